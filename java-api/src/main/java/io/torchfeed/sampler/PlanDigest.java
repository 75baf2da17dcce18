// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Hash64;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;

/**
 * The values that must be equal on all ranks: their digest, and their text, to name a difference.
 *
 * @param digest equal if the named values are
 * @param values the values that went into the digest by name, causes before their effects
 */
record PlanDigest(long digest, Map<String, String> values) {
  private static final long VERSION = 2;

  /** The maximum length of a text that is exchanged, in elements of 8 bytes. */
  private static final int MAX_TEXT = 1 << 17;

  private static final String MISSING = "none";

  static PlanDigest of(Sampler sampler, long epoch, int batchSize) {
    if (batchSize < 1) {
      throw new IllegalArgumentException("batchSize must be at least 1, got " + batchSize);
    }
    long full = sampler.size() / batchSize;
    return of(sampler, epoch, batchSize, sampler.size() % batchSize == 0 ? full : full + 1);
  }

  static PlanDigest of(BatchSampler sampler, long epoch) {
    return of(sampler, epoch, sampler.maxBatchSize(), sampler.batches(epoch));
  }

  private static PlanDigest of(Plan<?> plan, long epoch, int batchSize, long ownSteps) {
    Checks.requireEpoch(epoch);
    PlanParameters order = plan.order();
    int worldSize = plan.part().worldSize();
    // ranks with parts of unequal length may differ by one step
    long steps = plan.tail() == Tail.UNEVEN ? 0 : ownSteps;
    long[] probes = plan.probe(epoch, worldSize);

    long digest =
        Hash64.foldAll(
            VERSION,
            Hash64.fnv1a(order.kind()),
            worldSize,
            batchSize,
            steps,
            epoch,
            Hash64.fnv1a(order.digest()));
    for (long probe : probes) {
      digest = Hash64.fold(digest, probe);
    }

    Map<String, String> values = new LinkedHashMap<>();
    values.put("format version", Long.toString(VERSION));
    values.put("kind", order.kind());
    values.putAll(order.values());
    values.put("worldSize", Integer.toString(worldSize));
    values.put("batchSize", Integer.toString(batchSize));
    values.put("epoch", Long.toString(epoch));
    values.put("steps", Long.toString(steps));
    values.put("parameters", order.digest());
    for (int j = 0; j < probes.length; j++) {
      values.put("the sample at %d/%d of the order".formatted(j, probes.length), "" + probes[j]);
    }
    return new PlanDigest(digest, values);
  }

  static PlanDigest of(SamplerState state) {
    Map<String, String> values = new LinkedHashMap<>();
    values.put("kind", state.plan().kind());
    values.putAll(state.plan().values());
    values.put("epoch", Long.toString(state.epoch()));
    values.put("finished", Boolean.toString(state.finished()));
    values.put("segments", state.segments().toString());
    values.put(ResumeMismatchException.ORDER, SamplerState.hex(state.orderDigest()));
    return new PlanDigest(Hash64.fnv1a(values.toString()), values);
  }

  /** Returns the number of elements that {@link #text} needs for all values, up to the maximum. */
  int textLength() {
    return Math.min(MAX_TEXT, (bytes().length + Long.BYTES - 1) / Long.BYTES);
  }

  /**
   * Returns the values as UTF-8, padded or cut to a number of elements.
   *
   * @param requested the number of elements; brought into [0, the maximum]
   */
  long[] text(long requested) {
    int length = (int) Math.max(0, Math.min(MAX_TEXT, requested));
    long[] numbers = new long[length];
    ByteBuffer.wrap(Arrays.copyOf(bytes(), length * Long.BYTES)).asLongBuffer().get(numbers);
    return numbers;
  }

  private byte[] bytes() {
    StringBuilder text = new StringBuilder();
    values.forEach((name, value) -> text.append(name).append('=').append(value).append('\n'));
    return text.toString().getBytes(UTF_8);
  }

  private static Map<String, String> parse(long[] numbers) {
    ByteBuffer bytes = ByteBuffer.allocate(numbers.length * Long.BYTES);
    bytes.asLongBuffer().put(numbers);
    Map<String, String> values = new LinkedHashMap<>();
    String text = UTF_8.decode(bytes).toString().replace("\0", "");
    text.lines()
        .forEach(
            line -> {
              int sign = line.indexOf('=');
              values.put(line.substring(0, Math.max(0, sign)), line.substring(sign + 1));
            });
    return values;
  }

  /** Returns the first name whose value differs between ranks, and the value on each rank. */
  static String difference(long[][] texts) {
    List<Map<String, String>> ranks = Arrays.stream(texts).map(PlanDigest::parse).toList();
    Set<String> names = new LinkedHashSet<>();
    ranks.forEach(values -> names.addAll(values.keySet()));
    for (String name : names) {
      if (ranks.stream().map(values -> values.getOrDefault(name, MISSING)).distinct().count() > 1) {
        StringJoiner each = new StringJoiner(", ", name + ": ", "");
        for (int rank = 0; rank < texts.length; rank++) {
          each.add("rank %d has %s".formatted(rank, ranks.get(rank).getOrDefault(name, MISSING)));
        }
        return each.toString();
      }
    }
    return "parameters that are too long to be shown";
  }
}
