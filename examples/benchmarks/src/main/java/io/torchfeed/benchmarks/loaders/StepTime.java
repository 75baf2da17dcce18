// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import io.torchfeed.benchmarks.loaders.PeerProcess.MissingException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The time per step of a consumer that computes for T per batch with a loader that takes L:
 * together they should take the larger of the two. T and L are measured separately, in turn with
 * the combination.
 *
 * @param engine the row and the engine
 * @param computeOverLoad the T/L that was set
 * @param loadNanos L: nanoseconds per batch of the loader with one worker and an idle consumer
 * @param ofLarger the time of a step over the larger of T and L
 */
record StepTime(String engine, double computeOverLoad, Spread loadNanos, Spread ofLarger) {
  private static final double[] COMPUTE_OVER_LOAD = {0.25, 1, 4};
  private static final int STRIDE = 1_000_000;

  /** The warm-up of the program, in visits; its code is compiled by then. */
  private static final int WARM_UP_VISITS = 60;

  /** The time for each ratio, in visits. */
  private static final int VISITS = 2;

  /** Measures the program of an engine over a row, turn by turn. */
  static List<StepTime> of(Entry entry, Row row, Programs programs, int rounds, int milliseconds)
      throws IOException, InterruptedException, MissingException {
    double[][] load = new double[COMPUTE_OVER_LOAD.length][rounds];
    double[][] ratios = new double[COMPUTE_OVER_LOAD.length][rounds];
    try (PeerProcess process = programs.start(entry.program(), row)) {
      double last = step(process, entry, WARM_UP_VISITS * milliseconds, 0, 0)[0];
      for (int round = 0; round < rounds; round++) {
        long epoch = (round + 1L) * STRIDE;
        for (int i = 0; i < ratios.length; i++) {
          long compute = Math.round(COMPUTE_OVER_LOAD[i] * last);
          double[] seen = step(process, entry, VISITS * milliseconds, epoch, compute);
          last = seen[0];
          load[i][round] = last;
          ratios[i][round] = seen[1] / Math.max(last, seen[2]);
        }
      }
    }
    List<StepTime> seen = new ArrayList<>();
    for (int i = 0; i < ratios.length; i++) {
      seen.add(
          new StepTime(
              row + ": " + entry.contestant(),
              COMPUTE_OVER_LOAD[i],
              Spread.of(load[i]),
              Spread.of(ratios[i])));
    }
    return seen;
  }

  /** Returns nanoseconds per batch: the loader alone, a whole step, and the consumer alone. */
  private static double[] step(
      PeerProcess process, Entry entry, int milliseconds, long epoch, long compute)
      throws IOException, InterruptedException, MissingException {
    return process.ask(
        "step %s %d %d %d %d"
            .formatted(entry.variant(), entry.workers(), milliseconds, epoch, compute));
  }

  /** Returns the target for this step. */
  Bar bar() {
    String text =
        String.format(Locale.ROOT, "%s, step over max(T, L), T/L = %.2f", engine, computeOverLoad);
    return new Bar(text, 1.02, true, ofLarger);
  }
}
