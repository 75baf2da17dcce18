// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import io.torchfeed.data.loader.LoaderStats.Bottleneck;
import java.time.Duration;
import java.util.Locale;

/** The diagnosis of a loader by its figures, and their text. */
final class LoaderReport {
  private static final double SMALL_SHARE = 0.02;
  private static final double IDLE_SHARE = 0.5;

  /** The slabs in use beyond the batches requested ahead: with the consumer, and being copied. */
  private static final int OTHER_SLABS = 10;

  private LoaderReport() {}

  /** Returns the stage whose speed-up would shorten an epoch most. */
  static Bottleneck bottleneck(LoaderStats stats) {
    Duration loading = stats.waited().plus(stats.sampling());
    if (share(stats.starting().plus(loading), stats.elapsed()) < SMALL_SHARE) {
      return Bottleneck.CONSUMER;
    }
    if (stats.starting().compareTo(loading) > 0) {
      return Bottleneck.START;
    }
    if (stats.sampling().compareTo(stats.waited()) > 0) {
      return Bottleneck.SAMPLER;
    }
    if (takesHalf(stats.awaitingDevice(), stats)) {
      return takesHalf(stats.copying(), stats) ? Bottleneck.TRANSFER : Bottleneck.DEVICE;
    }
    Duration sending = stats.transferring().minus(stats.awaitingDevice());
    if (takesHalf(stats.handing().plus(sending), stats)) {
      return Bottleneck.HAND_OVER;
    }
    if (share(stats.waited().minus(stats.handing()), stats.elapsed()) < SMALL_SHARE) {
      return Bottleneck.CONSUMER;
    }
    if (stats.workers() > 0 && stats.busyShare() < IDLE_SHARE) {
      return share(stats.held(), idle(stats)) > IDLE_SHARE
          ? Bottleneck.PREFETCH
          : Bottleneck.REQUESTS;
    }
    if (stats.freshSlabs() - stats.prefetch() - OTHER_SLABS > stats.batches() * IDLE_SHARE) {
      return Bottleneck.MEMORY;
    }
    return stats.javaCode() ? Bottleneck.DATASET : Bottleneck.GATHER;
  }

  private static boolean takesHalf(Duration part, LoaderStats stats) {
    return share(part, stats.elapsed()) > IDLE_SHARE;
  }

  private static Duration ofWorkers(LoaderStats stats) {
    return stats.elapsed().minus(stats.starting()).multipliedBy(stats.workers());
  }

  private static Duration idle(LoaderStats stats) {
    return ofWorkers(stats).minus(stats.working());
  }

  /** Returns one human-readable line. */
  static String line(LoaderStats stats) {
    return String.format(
        Locale.ROOT,
        "%d batches, %d rows in %.2f s: %.1f thousand rows/s, %.1f MB/s;%s starting %.2f %%,"
            + " waited %.2f %%, %.1f of %d batches ready, %d workers busy %.0f %%, held %.0f %%%s%s;"
            + " bottleneck: %s",
        stats.batches(),
        stats.rows(),
        seconds(stats.elapsed()),
        stats.rowsPerSecond() / 1e3,
        stats.bytesPerSecond() / 1e6,
        stats.skipped() == 0 ? "" : " %d samples skipped;".formatted(stats.skipped()),
        100 * share(stats.starting(), stats.elapsed()),
        100 * stats.waitShare(),
        stats.ready(),
        stats.prefetch(),
        stats.workers(),
        100 * stats.busyShare(),
        100 * share(stats.held(), ofWorkers(stats)),
        copies(stats),
        slowest(stats),
        stats.bottleneck());
  }

  private static String copies(LoaderStats stats) {
    return stats.transferring().isZero()
        ? ""
        : String.format(
            Locale.ROOT,
            "; copies took %.0f %% of the time, and their host waited for %.0f %%",
            100 * share(stats.copying(), stats.elapsed()),
            100 * share(stats.awaitingDevice(), stats.elapsed()));
  }

  private static String slowest(LoaderStats stats) {
    return stats
        .slowest()
        .map(
            longest ->
                String.format(
                    Locale.ROOT,
                    "; slowest %s %d took %.3f ms",
                    longest.what(),
                    longest.number(),
                    seconds(longest.time()) * 1e3))
        .orElse("");
  }

  static double share(Duration part, Duration whole) {
    return whole.isZero() || whole.isNegative() ? 0 : Math.min(1, seconds(part) / seconds(whole));
  }

  static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }
}
