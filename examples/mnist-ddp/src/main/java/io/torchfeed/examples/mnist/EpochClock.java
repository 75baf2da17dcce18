// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.ProcessGroup;

/** A clock for one epoch of one rank, which also sums its losses. */
final class EpochClock {
  private static final double SMOOTHING = 0.95;

  private final long start = System.nanoTime();
  private final int rowsPerStep;
  private final long reductionBefore;
  private final long sentBefore = WireBytes.sent();
  private long steps;
  private double lossSum;
  private double recentLoss;
  private double seconds;
  private double waitSeconds;
  private double reductionSeconds;
  private long sentBytes;

  /**
   * Starts the clock.
   *
   * @param rowsPerStep samples per step, over all ranks
   * @param reductionBefore the current value of the reducer's clock, in nanoseconds
   */
  EpochClock(int rowsPerStep, long reductionBefore) {
    this.rowsPerStep = rowsPerStep;
    this.reductionBefore = reductionBefore;
  }

  void step(double loss) {
    recentLoss = steps == 0 ? loss : SMOOTHING * recentLoss + (1 - SMOOTHING) * loss;
    lossSum += loss;
    steps++;
  }

  void stop(long waitNanos, long reductionNow) {
    seconds = (System.nanoTime() - start) / 1e9;
    waitSeconds = waitNanos / 1e9;
    sentBytes = WireBytes.sent() - sentBefore;
    reductionSeconds = (reductionNow - reductionBefore) / 1e9;
  }

  long steps() {
    return steps;
  }

  double recentLoss() {
    return recentLoss;
  }

  double rowsPerSecond() {
    return steps * (double) rowsPerStep / ((System.nanoTime() - start) / 1e9);
  }

  /** Computes the metrics over all ranks; every rank must call this. */
  EpochMetrics metrics(
      int epoch, ProcessGroup group, Evaluation evaluation, double overlapShare, String digest) {
    double[] sums =
        Collectives.sum(group, lossSum, (double) steps, seconds, waitSeconds, reductionSeconds);
    double meanSeconds = sums[2] / group.size();
    return new EpochMetrics(
        epoch,
        sums[0] / sums[1],
        evaluation.loss(),
        evaluation.accuracy(),
        meanSeconds,
        steps * (double) rowsPerStep / meanSeconds,
        sums[3] / sums[2],
        sums[4] / sums[2],
        digest,
        // the ranks of this machine have counted the same bytes
        sentBytes / (double) Math.max(1, steps) / ranksOfMachine(group),
        overlapShare);
  }

  /** Returns the number of ranks on this machine, as launchers tell it; by default all. */
  private static int ranksOfMachine(ProcessGroup group) {
    String local = System.getenv("LOCAL_WORLD_SIZE");
    return local == null ? group.size() : Integer.parseInt(local);
  }
}
