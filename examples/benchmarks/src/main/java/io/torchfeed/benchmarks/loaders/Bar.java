// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.util.ArrayList;
import java.util.List;

/**
 * A performance target of torchfeed and its measurement.
 *
 * @param text the target and its row
 * @param wanted the minimum value, or the maximum if {@code atMost}
 * @param seen the measured median with the lowest and the highest turn
 */
record Bar(String text, double wanted, boolean atMost, Spread seen) {
  private static final double OF_LIMIT = 0.9;
  private static final double OF_PREAD = 0.8;
  private static final double MORE_WORKERS = 0.95;
  private static final double SCALING = 1.7;
  private static final double HEAP_BYTES = 1024;
  private static final double SAMPLES_A_WORKER = 1e6;

  boolean met() {
    return atMost ? seen.median() <= wanted : seen.median() >= wanted;
  }

  /** Returns the targets of a row, as far as they were measured. */
  static List<Bar> of(Results results) {
    List<Bar> bars = new ArrayList<>();
    String row = results.row() + ": ";
    for (Entry entry : results.entries()) {
      if (entry.kind() != Entry.Kind.OURS) {
        continue;
      }
      String name = row + entry.contestant() + ", " + entry.settingText() + ", ";
      if (Entry.NATIVE.equals(entry.contestant())) {
        double wanted = results.row() == Row.D ? OF_PREAD : OF_LIMIT;
        String limit =
            switch (results.row()) {
              case C -> "of the C++ conversion";
              case D -> "of pread";
              default -> "of memcpy";
            };
        bars.add(new Bar(name + limit, wanted, false, results.ofLimit(entry)));
      }
      if (entry.workers() > 0) {
        results
            .timesInTurn(entry.contestant(), entry.workers(), 0)
            .ifPresent(
                times ->
                    bars.add(
                        new Bar(name + "times as fast as 0 workers", MORE_WORKERS, false, times)));
      }
      results
          .heapBytes(entry)
          .ifPresent(
              bytes ->
                  bars.add(
                      new Bar(name + "heap bytes per batch", HEAP_BYTES, true, Spread.of(bytes))));
    }
    peers(results, bars, row);
    return bars;
  }

  private static void peers(Results results, List<Bar> bars, String row) {
    switch (results.row()) {
      case A -> {
        times(results, bars, Entry.PRESETS, 15);
        times(results, bars, Entry.PYTHON, 8);
        results.entries().stream()
            .filter(each -> each.kind() == Entry.Kind.WHOLE_BATCH)
            .filter(each -> !Entry.FRESH.equals(each.contestant()))
            .map(Entry::contestant)
            .distinct()
            .forEach(each -> times(results, bars, each, 1));
      }
      case C -> {
        results
            .find(Entry.JAVA, Setting.ONE_WORKER)
            .ifPresent(
                one ->
                    bars.add(
                        new Bar(
                            row + Entry.JAVA + ", 1 worker, samples/s",
                            SAMPLES_A_WORKER,
                            false,
                            results.rate(one))));
        results
            .timesInTurn(Entry.JAVA, 2, 1)
            .ifPresent(
                seen ->
                    bars.add(
                        new Bar(
                            row + Entry.JAVA + ", 2 workers, times as fast as 1 worker",
                            SCALING,
                            false,
                            seen)));
        times(results, bars, Entry.PYTHON, 15);
        times(results, bars, Entry.PRESETS, 10);
        times(results, bars, Entry.DJL_SAMPLE, 10);
      }
      default -> {}
    }
  }

  private static void times(Results results, List<Bar> bars, String peer, double wanted) {
    results
        .ours()
        .ifPresent(
            ours ->
                results
                    .best(peer)
                    .ifPresent(
                        theirs ->
                            bars.add(
                                new Bar(
                                    "%s: %s, times as fast as %s, best of each"
                                        .formatted(results.row(), ours.contestant(), peer),
                                    wanted,
                                    false,
                                    results.times(ours, theirs)))));
  }
}
