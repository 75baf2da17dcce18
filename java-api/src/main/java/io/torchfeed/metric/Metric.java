// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.internal.JsonObject;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * A measure over samples. Each class has an {@code update} for the tensors of a batch, which may be
 * on any device and are not modified.
 *
 * <p>It has the counts of this rank since the last merge, and the merged counts of all ranks:
 * {@link MetricCollection#merge}. Its state has both and is this rank's own: in a group it is added
 * by {@link io.torchfeed.checkpoint.TrainingState.Builder#ofEachRank}, while {@link
 * MetricCollection#merged} is the same on all ranks. Not thread-safe.
 */
public abstract class Metric implements Stateful {
  private static final long VERSION = 1;
  private static final String KIND = "Metric";
  private static final String OWN = "own";
  private static final String MERGED = "merged";

  /** The counts of this rank since the last merge. */
  final Totals own;

  private final String name;
  private final Supplier<Totals> empty;
  private Totals merged;

  /**
   * Creates a metric that has counted nothing.
   *
   * @param name its kind, with all options
   */
  Metric(String name, Supplier<Totals> empty) {
    this.name = name;
    this.empty = empty;
    own = empty.get();
    merged = empty.get();
  }

  /** Returns the result of these totals. */
  abstract double of(Totals all);

  /**
   * Returns the result over the samples of this rank and all merged samples.
   *
   * @return NaN without samples
   */
  public final double compute() {
    return of(all());
  }

  final Totals all() {
    Totals all = empty.get();
    all.add(merged);
    all.add(own);
    return all;
  }

  /** Forgets all samples. */
  public final void reset() {
    own.clear();
    merged.clear();
  }

  byte[] mergedBytes() {
    return merged.toBytes();
  }

  /** Returns the merged totals after a merge with the totals of each rank. */
  Totals mergedWith(Iterable<byte[]> ofRanks) {
    Totals sum = empty.get();
    sum.add(merged);
    for (byte[] bytes : ofRanks) {
      sum.add(empty.get().read(bytes));
    }
    return sum;
  }

  /** Takes the totals of all ranks. */
  void take(Totals ofAllRanks) {
    merged = ofAllRanks;
    own.clear();
  }

  @Override
  public final StateDict stateDict() {
    return state(true);
  }

  /** Returns the state, with or without the counts of this rank since the last merge. */
  StateDict state(boolean withOwn) {
    Map<String, Tensor> tensors = new HashMap<>();
    tensors.put(MERGED, tensor(merged));
    if (withOwn) {
      tensors.put(OWN, tensor(own));
    }
    String json = "{\"version\":%s,\"kind\":\"%s\",\"metric\":\"%s\"}";
    return StateDict.owning(json.formatted(VERSION, KIND, name), tensors);
  }

  /**
   * Continues from the state of another metric with the same options.
   *
   * @param state borrowed
   * @throws IllegalArgumentException if it is of another metric, or malformed
   */
  @Override
  public final void loadStateDict(StateDict state) {
    JsonObject json = JsonObject.parse("state of a " + KIND, requireNonNull(state, "state").json());
    json.requireKind(KIND);
    json.only("version", "kind", "metric").requireVersion(VERSION);
    if (!json.text("metric").equals(name)) {
      throw new IllegalArgumentException(
          "the state must be of the metric %s, got one of %s".formatted(name, json.text("metric")));
    }
    Map<String, Tensor> tensors = state.tensors();
    if (!tensors.containsKey(MERGED) || !Set.of(OWN, MERGED).containsAll(tensors.keySet())) {
      throw new IllegalArgumentException(
          "the state of a metric must have the tensors %s and perhaps %s, got %s"
              .formatted(MERGED, OWN, tensors.keySet()));
    }
    Totals savedMerged = totals(requireNonNull(tensors.get(MERGED)));
    Tensor bytes = tensors.get(OWN);
    Totals savedOwn = bytes == null ? empty.get() : totals(bytes);
    merged = savedMerged;
    own.clear();
    own.add(savedOwn);
  }

  private static Tensor tensor(Totals totals) {
    byte[] bytes = totals.toBytes();
    try (PointerScope scope = new PointerScope()) {
      Tensor tensor =
          torch.empty(
              new long[] {bytes.length},
              new TensorOptions(torch.ScalarType.Byte),
              new MemoryFormatOptional());
      new BytePointer(tensor.data_ptr()).put(bytes);
      return tensor.retainReference();
    }
  }

  private Totals totals(Tensor tensor) {
    if (tensor.scalar_type().intern() != torch.ScalarType.Byte || tensor.dim() != 1) {
      throw new IllegalArgumentException("the counts of a metric must be uint8 of one dimension");
    }
    byte[] bytes = new byte[Math.toIntExact(tensor.numel())];
    new BytePointer(tensor.data_ptr()).get(bytes);
    return empty.get().read(bytes);
  }

  /** Returns the kind of the metric, with its options. */
  @Override
  public final String toString() {
    return name;
  }
}
