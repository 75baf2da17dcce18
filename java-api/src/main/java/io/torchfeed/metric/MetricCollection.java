// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.ProcessGroup;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32C;

/**
 * Metrics that are merged over the ranks together, by one collective.
 *
 * <pre>{@code
 * Mean loss = Mean.create();
 * Accuracy accuracy = Accuracy.create();
 * MetricCollection metrics = MetricCollection.of(Map.of("loss", loss, "accuracy", accuracy));
 * // in each step, on each rank
 * accuracy.update(net.forward(images), labels);
 * // at the end
 * metrics.merge(group);
 * double result = accuracy.compute(); // of the samples of all ranks, equal on all of them
 * }</pre>
 *
 * <p>As a part of a {@link TrainingState} it is of each rank, and {@link #merged} of all. Elastic
 * ranks have {@code merged}: a rank that is lost takes only its counts since the last merge with
 * it. Not thread-safe. Source: torchmetrics 1.9.0, {@code MetricCollection}.
 */
public final class MetricCollection implements Stateful {
  private final Map<String, Metric> metrics;

  private MetricCollection(Map<String, Metric> metrics) {
    this.metrics = metrics;
  }

  /**
   * Returns a collection of metrics.
   *
   * @param metrics the same on all ranks; names have 1 to 64 letters, digits, hyphens and
   *     underscores
   * @return the collection, in the order of the names
   * @throws IllegalArgumentException if there is none, one has two names, or a name is malformed
   */
  public static MetricCollection of(Map<String, ? extends Metric> metrics) {
    Map<String, Metric> sorted = new TreeMap<>(requireNonNull(metrics, "metrics"));
    if (sorted.isEmpty() || sorted.values().stream().distinct().count() < sorted.size()) {
      throw new IllegalArgumentException(
          "a collection must have at least one metric, and each once, got " + sorted);
    }
    MetricCollection collection = new MetricCollection(sorted);
    collection.parts(true); // checks the names
    return collection;
  }

  /**
   * Returns the results over the samples of this rank and all merged samples.
   *
   * @return an unmodifiable map in the order of the names
   */
  public Map<String, Double> compute() {
    Map<String, Double> results = new LinkedHashMap<>();
    metrics.forEach((name, metric) -> results.put(name, metric.compute()));
    return Collections.unmodifiableMap(results);
  }

  /** Makes all metrics forget all samples. */
  public void reset() {
    metrics.values().forEach(Metric::reset);
  }

  /**
   * Merges the counts of the ranks since the last merge; then all ranks have equal results. All
   * ranks call it. Takes one all-gather, whatever the number of metrics, of 10 to 400 bytes for
   * most of them. If it fails, the counts of this rank are as before.
   *
   * @param group the ranks
   * @throws IllegalArgumentException on every rank, if the ranks have other metrics
   * @throws IllegalStateException on every rank, if the ranks did not have equal merged counts
   *     before, as after a merge of some of them; or if the group is closed or aborted
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   */
  public void merge(ProcessGroup group) {
    byte[][] all = requireNonNull(group, "group").allGatherBytes(message());
    Map<String, List<byte[]>> counts = new TreeMap<>();
    metrics.keySet().forEach(name -> counts.put(name, new ArrayList<>()));
    String names = metrics.toString();
    long checksum = 0;
    for (int rank = 0; rank < all.length; rank++) {
      CountBytes.Reader in = new CountBytes.Reader(all[rank]);
      String named = in.text();
      long merged = in.next();
      if (!named.equals(names)) {
        String mine = "%s on rank %d".formatted(names, group.rank());
        String others = "%s on rank %d".formatted(named, rank);
        boolean isFirst = rank < group.rank();
        throw new IllegalArgumentException(
            "the ranks must have the same metrics, got %s and %s"
                .formatted(isFirst ? others : mine, isFirst ? mine : others));
      }
      if (rank == 0) {
        checksum = merged;
      }
      if (merged != checksum) {
        throw new IllegalStateException(
            ("rank %d has merged other counts than rank 0 before; load one state of merged() on"
                    + " all ranks, or reset all")
                .formatted(rank));
      }
      counts.values().forEach(list -> list.add(in.array()));
      in.end();
    }
    Map<String, Totals> totals = new TreeMap<>();
    metrics.forEach(
        (name, metric) -> totals.put(name, metric.mergedWith(requireNonNull(counts.get(name)))));
    metrics.forEach((name, metric) -> metric.take(requireNonNull(totals.get(name))));
  }

  private byte[] message() {
    CountBytes.Writer out = new CountBytes.Writer();
    CRC32C checksum = new CRC32C();
    metrics.values().forEach(metric -> checksum.update(metric.mergedBytes()));
    out.put(metrics.toString());
    out.put(checksum.getValue());
    metrics.values().forEach(metric -> out.put(metric.own.toBytes()));
    return out.bytes();
  }

  /**
   * Returns the merged counts, as a part of a state that is the same on all ranks. Loading it
   * forgets the counts of this rank since the last merge.
   *
   * @return a view
   */
  public Stateful merged() {
    return parts(false);
  }

  /** Returns the state of this rank. */
  @Override
  public StateDict stateDict() {
    return parts(true).stateDict();
  }

  /**
   * Continues from the state of another collection with the same metrics.
   *
   * @param state borrowed
   * @throws IllegalArgumentException if it has other metrics, or is malformed; then the metrics
   *     before the one that refuses it keep the loaded state
   */
  @Override
  public void loadStateDict(StateDict state) {
    parts(true).loadStateDict(state);
  }

  private TrainingState parts(boolean withOwn) {
    TrainingState.Builder parts = TrainingState.builder();
    metrics.forEach((name, metric) -> parts.part(name, withOwn ? metric : new MergedState(metric)));
    return parts.build();
  }

  /** The merged counts of a metric. */
  private record MergedState(Metric metric) implements Stateful {
    @Override
    public StateDict stateDict() {
      return metric.state(false);
    }

    @Override
    public void loadStateDict(StateDict state) {
      metric.loadStateDict(state);
    }
  }

  /** Returns the metrics by name. */
  @Override
  public String toString() {
    return metrics.toString();
  }
}
