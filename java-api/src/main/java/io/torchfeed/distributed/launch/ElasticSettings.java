// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.JobSecret;
import io.torchfeed.internal.Once;
import io.torchfeed.internal.TimeLimit;
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

  /** The options of an elastic launch that a {@link LauncherBuilder} has got. */
  static final class Options {
    private @Nullable CoordinatorOptions ranks;
    private @Nullable Integer processes;
    private @Nullable Integer spares;
    private @Nullable Integer budget;
    private @Nullable Duration per;
    private @Nullable Consumer<CoordinatorEvent> events;
    private @Nullable Place place;
    private @Nullable String job;

    void ranks(CoordinatorOptions options) {
      ranks = Once.set("ranks", ranks, requireNonNull(options, "options"));
      options.job().ifPresent(this::job);
      options.events().ifPresent(this::events);
    }

    void processes(int count) {
      if (count < 1) {
        throw new IllegalArgumentException("processes must be at least 1, got " + count);
      }
      processes = Once.set("processes", processes, count);
    }

    void spares(int count) {
      if (count < 0) {
        throw new IllegalArgumentException("spares must be at least 0, got " + count);
      }
      spares = Once.set("spares", spares, count);
    }

    void maxRestarts(int count, @Nullable Duration within) {
      if (count < 0) {
        throw new IllegalArgumentException("maxRestarts must be at least 0, got " + count);
      }
      Duration interval = within == null ? null : TimeLimit.atLeastOneMilli("per", within);
      budget = Once.set("maxRestarts", budget, count);
      per = interval;
    }

    void events(Consumer<CoordinatorEvent> consumer) {
      events = Once.set("events", events, requireNonNull(consumer, "events"));
    }

    void place(Place.Kind kind, String host, int port) {
      place = Once.set("the coordinator", place, new Place(kind, host, port, ""));
    }

    void job(String name) {
      if (requireNonNull(name, "job").isBlank()) {
        throw new IllegalArgumentException("job must not be blank");
      }
      job = Once.set("job", job, name);
    }

    /** Throws if the launch is elastic. */
    void requireNoRanks() {
      Once.requireUnset("ranks", ranks);
    }

    /** Returns the number of processes that train on this machine. */
    int processesOr(int otherwise) {
      return ranks == null ? otherwise : processes == null ? ranks.maxRanks() : processes;
    }

    /**
     * Returns the settings, with defaults for options that were not set.
     *
     * @return null for a launch that is not elastic
     * @throws IllegalStateException if it is not, but has options of elastic launches, or a job of
     *     several machines has no name or no secret
     * @throws IllegalArgumentException if there are too few or too many processes, or the secret in
     *     the environment is none
     */
    @Nullable ElasticSettings settings() {
      if (ranks == null) {
        requireUnset("processes", processes);
        requireUnset("maxRestarts", budget);
        requireUnset("spares", spares);
        requireUnset("listen and coordinator", place);
        requireUnset("job", job);
        requireUnset("events", events);
        return null;
      }
      int extra = spares == null ? 0 : spares;
      long all = (long) processesOr(0) + extra;
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

    private static void requireUnset(String option, @Nullable Object value) {
      if (value != null) {
        throw new IllegalStateException(option + " is an option of elasticRanks(min, max)");
      }
    }
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
