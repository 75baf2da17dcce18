// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The measurements of one row, turn by turn. */
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
   * Adds the measurement of an entry in a turn.
   *
   * @param rate samples per second
   * @param limit samples per second of the limit in the same turn
   * @param heap bytes of the Java heap per batch; negative if there is none
   */
  void add(Entry entry, double rate, double limit, double heap) {
    rates.computeIfAbsent(entry, each -> new ArrayList<>()).add(rate);
    limits.computeIfAbsent(entry, each -> new ArrayList<>()).add(limit);
    if (heap >= 0) {
      heapBytes.put(entry, heap);
    }
  }

  /**
   * Adds the times of a contestant's epochs with each number of workers in turn.
   *
   * @param nanos nanoseconds of an epoch without workers, with one, and so on
   */
  void addInTurn(String contestant, double... nanos) {
    epochsInTurn.computeIfAbsent(contestant, each -> new ArrayList<>()).add(nanos.clone());
  }

  /** Records why a program did not take part. */
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

  /** Returns the samples per second of an entry. */
  Spread rate(Entry entry) {
    return Spread.of(turns(entry));
  }

  /** Returns the rate relative to the limit with the same number of threads. */
  Spread ofLimit(Entry entry) {
    return Spread.ofRatios(turns(entry), toArray(limits, entry));
  }

  /** Returns the bytes of the Java heap allocated per batch in the last turn. */
  Optional<Double> heapBytes(Entry entry) {
    return Optional.ofNullable(heapBytes.get(entry));
  }

  /** Returns the entry of a contestant in a setting. */
  Optional<Entry> find(String contestant, Setting setting) {
    return entries().stream()
        .filter(each -> each.contestant().equals(contestant) && each.setting() == setting)
        .findFirst();
  }

  /** Returns the entry of a contestant's best setting. */
  Optional<Entry> best(String contestant) {
    return entries().stream()
        .filter(each -> each.contestant().equals(contestant))
        .max(Comparator.comparingDouble(each -> rate(each).median()));
  }

  /** Returns torchfeed's best setting, of the main engine of this row. */
  Optional<Entry> ours() {
    return best(row == Row.C ? Entry.JAVA : Entry.NATIVE);
  }

  /** Returns the rate of one entry relative to another. */
  Spread times(Entry over, Entry under) {
    return Spread.ofRatios(turns(over), turns(under));
  }

  /** Returns, by contestant and turn, the nanoseconds of an epoch for each number of workers. */
  Map<String, List<double[]>> epochsInTurn() {
    return epochsInTurn;
  }

  /**
   * Returns the rate of a contestant with some number of workers relative to another number,
   * measured epoch by epoch in turn; empty if not measured.
   */
  Optional<Spread> timesInTurn(String contestant, int workers, int others) {
    List<double[]> seen = epochsInTurn.getOrDefault(contestant, List.of());
    return seen.isEmpty()
        ? Optional.empty()
        : Optional.of(
            Spread.of(seen.stream().mapToDouble(each -> each[others] / each[workers]).toArray()));
  }
}
