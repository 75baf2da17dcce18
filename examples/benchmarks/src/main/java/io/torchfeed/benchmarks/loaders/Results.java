// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What was seen of one row, turn by turn. */
final class Results {
  private final Row row;
  private final Map<Entry, List<Double>> rates = new LinkedHashMap<>();
  private final Map<Entry, List<Double>> limits = new LinkedHashMap<>();
  private final Map<String, List<double[]>> epochsInTurn = new LinkedHashMap<>();
  private final Map<Entry, Double> heapBytes = new LinkedHashMap<>();
  private final Map<String, String> missing = new LinkedHashMap<>();

  Results(Row row) {
    this.row = row;
  }

  Row row() {
    return row;
  }

  /**
   * Adds what an entry did in a turn.
   *
   * @param rate samples a second
   * @param limit samples a second that were the limit then
   * @param heap bytes of the Java heap a batch, negative where there is none
   */
  void add(Entry entry, double rate, double limit, double heap) {
    rates.computeIfAbsent(entry, each -> new ArrayList<>()).add(rate);
    limits.computeIfAbsent(entry, each -> new ArrayList<>()).add(limit);
    if (heap >= 0) {
      heapBytes.put(entry, heap);
    }
  }

  /**
   * Adds how long a contestant's epochs took when it loaded with each number of workers in turn.
   *
   * @param nanos of an epoch without workers, with one and so on
   */
  void addInTurn(String contestant, double... nanos) {
    epochsInTurn.computeIfAbsent(contestant, each -> new ArrayList<>()).add(nanos.clone());
  }

  /** Says why a program took no part. */
  void missing(String program, String why) {
    missing.put(program, why);
  }

  Map<String, String> missing() {
    return missing;
  }

  Set<Entry> entries() {
    return rates.keySet();
  }

  double[] turns(Entry entry) {
    return toArray(rates, entry);
  }

  private static double[] toArray(Map<Entry, List<Double>> series, Entry entry) {
    return series.getOrDefault(entry, List.of()).stream()
        .mapToDouble(Double::doubleValue)
        .toArray();
  }

  /** Samples a second. */
  Spread rate(Entry entry) {
    return Spread.of(turns(entry));
  }

  /** The share of the limit, with as many threads. */
  Spread ofLimit(Entry entry) {
    return Spread.ofRatios(turns(entry), toArray(limits, entry));
  }

  /** Bytes of the Java heap that the last turn allocated a batch. */
  Optional<Double> heapBytes(Entry entry) {
    return Optional.ofNullable(heapBytes.get(entry));
  }

  /** An entry of a contestant. */
  Optional<Entry> find(String contestant, int workers) {
    return entries().stream()
        .filter(each -> each.contestant().equals(contestant) && each.workers() == workers)
        .findFirst();
  }

  /** The entry of a contestant's best setting. */
  Optional<Entry> best(String contestant) {
    return entries().stream()
        .filter(each -> each.contestant().equals(contestant))
        .max(Comparator.comparingDouble(each -> rate(each).median()));
  }

  /** torchfeed's best setting, of the engine that is first in this row. */
  Optional<Entry> ours() {
    return best(row == Row.C ? Entry.JAVA : Entry.NATIVE);
  }

  /** How many times as fast one entry is as another. */
  Spread times(Entry over, Entry under) {
    return Spread.ofRatios(turns(over), turns(under));
  }

  /** By contestant, turn by turn: the nanoseconds of an epoch by number of workers. */
  Map<String, List<double[]>> epochsInTurn() {
    return epochsInTurn;
  }

  /**
   * How many times as fast a contestant is with some workers as with others, epoch by epoch in
   * turn; empty if it was not seen so.
   */
  Optional<Spread> timesInTurn(String contestant, int workers, int others) {
    List<double[]> seen = epochsInTurn.getOrDefault(contestant, List.of());
    return seen.isEmpty()
        ? Optional.empty()
        : Optional.of(
            Spread.of(seen.stream().mapToDouble(each -> each[others] / each[workers]).toArray()));
  }
}
