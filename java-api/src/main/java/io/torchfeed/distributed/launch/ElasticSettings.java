// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.JobSecret;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of an elastic launch.
 *
 * @param spares the number of processes on this machine beyond those that train
 * @param budget the number of restarts on this machine within any interval of length {@code per}
 * @param place where the coordinator of the job is
 */
record ElasticSettings(
    CoordinatorOptions ranks,
    int spares,
    int budget,
    Duration per,
    Consumer<CoordinatorEvent> events,
    Place place) {
  private static final int DEFAULT_RESTARTS = 3;
  private static final Duration DEFAULT_PER = Duration.ofMinutes(1);

  /**
   * Returns the options that were set, with defaults for the others, which are null.
   *
   * @throws IllegalStateException if a job of several machines has no name or no secret
   * @throws IllegalArgumentException if there are too few or too many processes, or the secret in
   *     the environment is none
   */
  static ElasticSettings of(
      CoordinatorOptions ranks,
      @Nullable Integer processes,
      @Nullable Integer spares,
      @Nullable Integer budget,
      @Nullable Duration per,
      @Nullable Consumer<CoordinatorEvent> events,
      @Nullable Place place,
      @Nullable String job) {
    int extra = spares == null ? 0 : spares;
    long all = (long) (processes == null ? ranks.maxRanks() : processes) + extra;
    int restarts = (int) Math.min(Integer.MAX_VALUE, DEFAULT_RESTARTS * all);
    Place checked = Place.of(place, job, all, ranks.minRanks());
    return new ElasticSettings(
        ranks.withSecret(secret(ranks, place)),
        extra,
        budget == null ? restarts : budget,
        per == null ? DEFAULT_PER : per,
        events == null ? event -> {} : events,
        checked);
  }

  private static JobSecret secret(CoordinatorOptions ranks, @Nullable Place place) {
    return ranks
        .secret()
        .or(JobSecret::fromEnvironment)
        .or(() -> place == null ? Optional.of(JobSecret.random()) : Optional.empty())
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "a job of several machines needs a secret, the same on all: in the file that"
                        + " the environment variable TORCHFEED_JOB_SECRET_FILE names, by"
                        + " --secret-file, or by CoordinatorOptions.withSecret"));
  }

  /** Returns the secret of the job. */
  JobSecret secret() {
    return ranks.secret().orElseThrow();
  }

  /**
   * The place of a job's coordinator.
   *
   * @param kind whether it runs in this launcher, and whether other machines join it
   * @param port 0 for one that the system chooses, only for the processes of this machine alone
   */
  record Place(Kind kind, String host, int port, String job) {
    private static final int LAST_PORT = 65_535;

    enum Kind {
      /** It runs in this launcher, for the processes of this machine alone. */
      ALONE,

      /** It runs in this launcher, and other machines join it. */
      HERE,

      /** It runs in the launcher of another machine. */
      ELSEWHERE
    }

    Place {
      int least = kind == Kind.ALONE ? 0 : 1;
      if (port < least || port > LAST_PORT) {
        throw new IllegalArgumentException(
            "port must be in [%d, %d], got %d".formatted(least, LAST_PORT, port));
      }
      requireNonNull(host, "host");
    }

    /**
     * Returns the place of a job.
     *
     * @param set null for a job of one machine
     * @param name null for a random one, if the job is of one machine
     * @param processes and spares of this machine
     * @throws IllegalStateException if a job of several machines has no name
     * @throws IllegalArgumentException if there are too few or too many processes
     */
    static Place of(@Nullable Place set, @Nullable String name, long processes, int minRanks) {
      if (set != null && name == null) {
        throw new IllegalStateException("job must be set, the same on all machines");
      }
      String job = name == null ? UUID.randomUUID().toString() : name;
      Place place =
          set == null
              ? new Place(Kind.ALONE, "127.0.0.1", 0, job)
              : new Place(set.kind, set.host, set.port, job);
      place.requireEnough(processes, minRanks);
      return place;
    }

    /**
     * Throws if the processes and spares of this machine are too few to train, or too many.
     *
     * @param minRanks the least number of ranks, which may be on other machines unless it is alone
     */
    private void requireEnough(long processes, int minRanks) {
      int least = kind == Kind.ALONE ? minRanks : 1;
      if (processes < least || processes > Integer.MAX_VALUE) {
        throw new IllegalArgumentException(
            "processes and spares must be in [%d, %d] together, got %d"
                .formatted(least, Integer.MAX_VALUE, processes));
      }
    }

    boolean isHere() {
      return kind != Kind.ELSEWHERE;
    }

    @Override
    public String toString() {
      return host + ":" + port;
    }
  }
}
