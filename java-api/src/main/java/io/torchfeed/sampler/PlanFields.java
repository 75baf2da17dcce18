// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;

/**
 * What must be equal on all ranks: a digest of it, and the same as text, to name a difference.
 *
 * @param digest equal if the named values are
 * @param values what went into the digest by name, the causes before their effects
 */
record PlanFields(long digest, Map<String, String> values) {
  private static final long VERSION = 1;

  /** Fits the parameters of any plan and 64 probes of 19 digits. */
  private static final int TEXT_BYTES = 8192;

  private static final String MISSING = "none";

  static PlanFields of(Sampler sampler, long epoch, int batchSize) {
    return of(new FixedBatches(sampler, batchSize), epoch, batchSize);
  }

  static PlanFields of(BatchSampler sampler, long epoch) {
    return of(sampler, epoch, sampler.largestBatch());
  }

  private static PlanFields of(BatchSampler sampler, long epoch, int batchSize) {
    Arguments.requireEpoch(epoch);
    PlanParameters order = sampler.order();
    int worldSize = sampler.worldSize();
    String tail = order.values().getOrDefault("tail", MISSING);
    // ranks of unequal size may differ by a step
    long steps = tail.equals(Tail.UNEVEN.name()) ? 0 : sampler.batches(epoch);
    long[] probes = Probes.of(sampler, epoch, worldSize);

    long digest =
        Mix64.foldAll(
            VERSION,
            Mix64.fnv1a(order.kind()),
            number(order, "datasetSize"),
            worldSize,
            batchSize,
            steps,
            number(order, "seed"),
            epoch,
            Mix64.fnv1a(tail),
            Mix64.fnv1a(order.digest()));
    for (long probe : probes) {
      digest = Mix64.fold(digest, probe);
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
    return new PlanFields(digest, values);
  }

  static PlanFields of(SamplerState state) {
    Map<String, String> values = new LinkedHashMap<>();
    values.put("kind", state.plan().kind());
    values.putAll(state.plan().values());
    values.put("epoch", Long.toString(state.epoch()));
    values.put("finished", Boolean.toString(state.finished()));
    values.put("segments", state.segments().toString());
    values.put("order digest", SamplerState.hex(state.orderDigest()));
    return new PlanFields(Mix64.fnv1a(values.toString()), values);
  }

  private static long number(PlanParameters parameters, String name) {
    String value = parameters.values().getOrDefault(name, "0");
    try {
      return Long.parseLong(value);
    } catch (NumberFormatException e) {
      return Mix64.fnv1a(value);
    }
  }

  /** The values as UTF-8 in an array of the same length for all plans. */
  long[] text() {
    StringBuilder text = new StringBuilder();
    values.forEach((name, value) -> text.append(name).append('=').append(value).append('\n'));
    byte[] bytes = Arrays.copyOf(text.toString().getBytes(UTF_8), TEXT_BYTES);
    long[] numbers = new long[TEXT_BYTES / Long.BYTES];
    ByteBuffer.wrap(bytes).asLongBuffer().get(numbers);
    return numbers;
  }

  private static Map<String, String> parse(long[] numbers) {
    ByteBuffer bytes = ByteBuffer.allocate(TEXT_BYTES);
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

  /** The first name of which the ranks have different values, and these. */
  static String difference(long[][] texts) {
    List<Map<String, String>> ranks = Arrays.stream(texts).map(PlanFields::parse).toList();
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
