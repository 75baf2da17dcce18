// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The figures behind {@link io.torchfeed.data.loader.LoaderStats}, whose methods describe them. */
public record LoaderFigures(
    long batches,
    long rows,
    long bytes,
    Duration elapsed,
    Duration starting,
    Duration waited,
    Duration sampling,
    Duration working,
    Duration transferring,
    int workers,
    int prefetch,
    double ready,
    Optional<Slowest> slowest,
    boolean javaCode,
    long skipped,
    List<Skipped> firstSkipped,
    Flow flow) {
  /** The way of batches from the workers to the consumer, and to a device. */
  public record Flow(
      Duration copying, Duration awaitingDevice, Duration handing, Duration held, long freshSlabs) {
    /** The flow before the first batch. */
    public static final Flow NONE =
        new Flow(Duration.ZERO, Duration.ZERO, Duration.ZERO, Duration.ZERO, 0);
  }

  /** A sample that was left out of its batch. */
  public record Skipped(long index, long epoch, String reason) {}

  /** The sample or the batch that took the longest. */
  public record Slowest(String what, long number, long epoch, Duration time) {}
}
