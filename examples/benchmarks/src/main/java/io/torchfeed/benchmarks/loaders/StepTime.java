// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import io.torchfeed.benchmarks.loaders.PeerProcess.MissingException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Seconds a step with a consumer that computes T a batch and a loader that takes L: together they
 * should take the larger of the two. Both are known from runs alone, in turn with those together.
 *
 * @param engine which engine, of which row
 * @param computeOverLoad T/L as it was set
 * @param loadNanos L: nanoseconds a batch of the loader with one worker and an idle consumer
 * @param ofLarger a step over the larger of T and L
 */
record StepTime(String engine, double computeOverLoad, Spread loadNanos, Spread ofLarger) {
  private static final double[] COMPUTE_OVER_LOAD = {0.25, 1, 4};
  private static final int STRIDE = 1_000_000;

  /** How many visits long the program runs before: its code is compiled by then. */
  private static final int WARM_UP_VISITS = 60;

  /** How many visits long it runs for each ratio. */
  private static final int VISITS = 2;

  /** Measures an engine's program over a row, turn by turn. */
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

  /** Nanoseconds a batch: the loader's alone, a step's, and the consumer's alone. */
  private static double[] step(
      PeerProcess process, Entry entry, int milliseconds, long epoch, long compute)
      throws IOException, InterruptedException, MissingException {
    return process.ask(
        "step %s %d %d %d %d"
            .formatted(entry.variant(), entry.workers(), milliseconds, epoch, compute));
  }

  /** What it should be. */
  Bar bar() {
    String text =
        String.format(Locale.ROOT, "%s, step over max(T, L), T/L = %.2f", engine, computeOverLoad);
    return new Bar(text, 1.02, true, ofLarger);
  }
}
