// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import java.time.Duration;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of a launch whose ranks come and go.
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

    /** Returns the place for a job of one machine. */
    static Place alone() {
      return new Place(Kind.ALONE, "127.0.0.1", 0, UUID.randomUUID().toString());
    }

    /** Returns this place for a job of a name; null for the one it has. */
    Place withJob(@Nullable String name) {
      return name == null ? this : new Place(kind, host, port, name);
    }

    /** Throws if ranks are to be shown that the launcher does not learn. */
    void requireKnown(RankOutput.Shown shown) {
      if (!isHere() && shown.ranks() != null && !shown.equals(RankOutput.Shown.NONE)) {
        throw new IllegalStateException(
            "shownRanks " + shown + " cannot be known: the coordinator is on another machine");
      }
    }

    /**
     * Throws if the processes and spares of this machine are too few to train, or too many.
     *
     * @param minRanks the least number of ranks, which may be on other machines unless it is alone
     */
    void requireEnough(long processes, int minRanks) {
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
