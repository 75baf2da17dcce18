// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import io.torchfeed.benchmarks.PageCache;
import io.torchfeed.benchmarks.loaders.PeerProcess.MissingException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The turns over one row. In each turn every entry loads once, after an uncounted epoch if epochs
 * are short. Each of torchfeed's entries runs between two visits of the limit and is compared with
 * their mean; the other entries are compared with the turn's mean. At the end of a turn each of
 * torchfeed's programs loads with each number of workers alternately, epoch by epoch.
 */
final class Contest implements AutoCloseable {
  /** The maximum number of epochs in a turn. */
  private static final int STRIDE = 1_000_000;

  /** The time for comparing numbers of workers in turn, in visits. */
  private static final int VISITS_IN_TURN = 5;

  private static final double NANOS = 1e9;

  private final Row row;
  private final Programs programs;
  private final int milliseconds;
  private final int warmUps;
  private final Consumer<String> notes;
  private final Map<String, PeerProcess> processes = new LinkedHashMap<>();
  private final List<Entry> entries = new ArrayList<>();
  private final Map<Entry, Double> epochNanos = new HashMap<>(); // last measured
  private final Results results;

  /**
   * Describes a contest.
   *
   * @param milliseconds the minimum time that an entry loads in a turn, in whole epochs
   * @param warmUps how many times an entry does so before the first turn
   */
  Contest(Row row, Programs programs, int milliseconds, int warmUps, Consumer<String> notes) {
    this.row = row;
    this.programs = programs;
    this.milliseconds = milliseconds;
    this.warmUps = warmUps;
    this.notes = notes;
    results = new Results(row);
  }

  /** Runs all turns. */
  Results run(int rounds) throws IOException, InterruptedException {
    try {
      programs.prepare(row);
    } catch (MissingException e) {
      results.missing("row " + row, e.why());
      notes.accept("row " + row + " is left out: " + e.why());
      return results;
    }
    notes.accept("row " + row + ": starting the processes; each loads an epoch that is checked");
    open();
    for (int round = 1; round <= rounds; round++) {
      notes.accept("row %s: turn %d of %d".formatted(row, round, rounds));
      turn(round);
    }
    return results;
  }

  private void open() throws IOException, InterruptedException {
    Expected expected = Expected.of(programs.data(row));
    for (Entry entry : Entry.of(row)) {
      if (results.missing().containsKey(entry.program())) {
        continue;
      }
      try {
        PeerProcess process = processes.get(entry.program());
        if (process == null) {
          process = programs.start(entry.program(), row);
          processes.put(entry.program(), process);
        }
        expected.require(entry, process.ask(request("check", entry, 0, 0)));
        for (int i = 0; i < warmUps; i++) {
          visit(entry, i); // compiles the code and touches the memory
        }
        entries.add(entry);
      } catch (MissingException e) {
        leaveOut(entry, e);
      }
    }
  }

  private void leaveOut(Entry entry, MissingException why) throws IOException {
    String program = entry.program();
    if (entry.kind() == Entry.Kind.OURS || entry.kind() == Entry.Kind.LIMIT) {
      throw new IOException(
          "row %s needs %s: %s".formatted(row, entry.contestant(), why.why()), why);
    }
    results.missing(program, why.why());
    entries.removeIf(each -> each.program().equals(program));
    notes.accept("row %s: %s is left out: %s".formatted(row, program, why.why()));
  }

  private static String request(String verb, Entry entry, int milliseconds, long epoch) {
    return "%s %s %d %d %d".formatted(verb, entry.variant(), entry.workers(), milliseconds, epoch);
  }

  private void turn(int round) throws IOException, InterruptedException {
    long epoch = (long) round * STRIDE;
    Map<Entry, List<Double>> limits = new LinkedHashMap<>();
    Map<Entry, Visit> seen = new LinkedHashMap<>();
    Map<Entry, Double> between = new LinkedHashMap<>();
    try {
      for (Entry entry : entries) {
        if (entry.kind() == Entry.Kind.LIMIT) {
          limits.computeIfAbsent(entry, each -> new ArrayList<>()).add(visit(entry, epoch).rate());
        } else if (entry.kind() == Entry.Kind.OURS) {
          Entry limit = limitOf(entry);
          double before = visit(limit, epoch).rate();
          seen.put(entry, visit(entry, epoch));
          double after = visit(limit, epoch).rate();
          between.put(entry, (before + after) / 2);
          limits.computeIfAbsent(limit, each -> new ArrayList<>()).addAll(List.of(before, after));
        } else {
          seen.put(entry, visit(entry, epoch));
        }
      }
      for (Entry entry : entries) {
        if (entry.kind() == Entry.Kind.OURS && entry.setting() == Setting.TWO_WORKERS) {
          int atLeast = VISITS_IN_TURN * milliseconds;
          results.addInTurn(
              entry.contestant(), process(entry).ask(request("turns", entry, atLeast, epoch)));
        }
      }
    } catch (MissingException e) {
      throw new IOException("row " + row + " lost a process: " + e.why(), e);
    }
    limits.forEach((limit, rates) -> results.add(limit, mean(rates), mean(rates), -1));
    seen.forEach(
        (entry, visit) ->
            results.add(
                entry,
                visit.rate(),
                between.getOrDefault(entry, mean(limits.getOrDefault(limitOf(entry), List.of()))),
                visit.heapBytes()));
  }

  private Entry limitOf(Entry entry) {
    Entry found = null;
    for (Entry each : entries) {
      if (each.kind() == Entry.Kind.LIMIT
          && (found == null || each.workers() == entry.setting().threads())) {
        found = each;
      }
    }
    if (found == null) {
      throw new IllegalStateException(
          "row " + row + " has no limit; see the programs that were left out");
    }
    return found;
  }

  private static double mean(List<Double> values) {
    return values.stream().mapToDouble(Double::doubleValue).average().orElseThrow();
  }

  /** A measurement: samples per second, and bytes of the Java heap per batch. */
  private record Visit(double rate, double heapBytes) {}

  private Visit visit(Entry entry, long epoch)
      throws IOException, InterruptedException, MissingException {
    boolean cold = row.isCold();
    if (cold) {
      PageCache.drop(programs.data(row).file());
    }
    PeerProcess process = process(entry);
    if (!cold && epochNanos.getOrDefault(entry, Double.MAX_VALUE) < milliseconds * 1e6) {
      process.ask(request("run", entry, 0, epoch)); // refills caches after the others
    }
    double[] answer = process.ask(request("run", entry, cold ? 0 : milliseconds, epoch));
    epochNanos.put(entry, answer[2] / answer[1] * row.batches());
    double heap = answer[3] < 0 ? -1 : answer[3] / answer[1];
    return new Visit(answer[0] / answer[2] * NANOS, heap);
  }

  private PeerProcess process(Entry entry) {
    PeerProcess process = processes.get(entry.program());
    if (process == null) {
      throw new IllegalStateException(entry.program() + " was not started");
    }
    return process;
  }

  @Override
  public void close() {
    processes.values().forEach(PeerProcess::close);
  }
}
