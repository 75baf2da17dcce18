// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The options of a loop that may change when a training continues, but make its steps compute other
 * values than a training without a stop. Part of the loop's {@link Progress}; empty before the
 * first step, and of checkpoints of before there was this part.
 */
record SavedOptions(Map<String, Long> values) {
  private static final Map<String, String> TEXTS = new LinkedHashMap<>();

  static {
    TEXTS.put("batchSize", "batch size");
    TEXTS.put("accumulate", "number of batches in a step");
    TEXTS.put("seed", "seed of the loop");
    TEXTS.put("loaderSeed", "seed of the loader");
  }

  static SavedOptions none() {
    return new SavedOptions(Map.of());
  }

  /**
   * Returns the options of a run.
   *
   * @param batchSize the largest batch of all ranks together
   */
  static SavedOptions of(long batchSize, long accumulate, long seed, long loaderSeed) {
    return new SavedOptions(
        Map.of(
            "batchSize",
            batchSize,
            "accumulate",
            accumulate,
            "seed",
            seed,
            "loaderSeed",
            loaderSeed));
  }

  /** Returns a sentence for each option that differs from the saved ones, and is known of them. */
  List<String> changesFrom(SavedOptions saved) {
    List<String> changes = new ArrayList<>();
    TEXTS.forEach(
        (name, text) -> {
          Long before = saved.values.get(name);
          Long now = values.get(name);
          if (before != null && now != null && !now.equals(before)) {
            changes.add("continues with another %s, %d instead of %d".formatted(text, now, before));
          }
        });
    return changes;
  }

  void write(JsonGenerator out) throws IOException {
    out.writeStartObject();
    for (String name : TEXTS.keySet()) {
      Long value = values.get(name);
      if (value != null) {
        out.writeNumberField(name, value);
      }
    }
    out.writeEndObject();
  }

  /**
   * Reads the options that {@link #write} has written.
   *
   * @param json null for a checkpoint without them
   * @throws IllegalArgumentException if it is malformed
   */
  static SavedOptions read(@Nullable JsonObject json) {
    if (json == null) {
      return none();
    }
    json.only(TEXTS.keySet().toArray(String[]::new));
    Map<String, Long> values = new LinkedHashMap<>();
    for (String name : TEXTS.keySet()) {
      if (json.has(name)) {
        values.put(name, json.number(name));
      }
    }
    return new SavedOptions(Map.copyOf(values));
  }
}
