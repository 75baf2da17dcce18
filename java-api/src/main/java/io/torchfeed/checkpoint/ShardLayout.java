// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.internal.Quotes;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.bytedeco.javacpp.PointerScope;

/**
 * The names, dtypes and shapes that the ranks of a checkpoint compare before they write it.
 *
 * @param worldSize the number of ranks
 * @param parts the dtypes and shapes of tensors by name, by part; a part that differs between the
 *     ranks has none
 */
record ShardLayout(int worldSize, Map<String, Map<String, String>> parts) {
  private static final String WORLD_SIZE = "world_size";
  private static final String PARTS = "parts";

  /** Returns the layout of the states of all parts. */
  static ShardLayout of(int worldSize, Map<String, StateDict> states, Set<String> own) {
    Map<String, Map<String, String>> parts = new LinkedHashMap<>();
    try (PointerScope scope = new PointerScope()) {
      states.forEach(
          (part, state) -> {
            Map<String, String> tensors = new LinkedHashMap<>();
            if (!own.contains(part)) {
              state
                  .tensors()
                  .forEach((name, tensor) -> tensors.put(name, StateDict.describe(tensor)));
            }
            parts.put(part, tensors);
          });
    }
    return new ShardLayout(worldSize, parts);
  }

  /** Returns the number of tensors of a part. */
  int tensors(String part) {
    return requireNonNull(parts.get(part)).size();
  }

  /**
   * Returns the first difference to the layout of rank 0.
   *
   * @param rank the rank of this one
   * @return names both sides; empty if there is none
   */
  Optional<String> difference(int rank, ShardLayout ofFirst) {
    if (worldSize != ofFirst.worldSize) {
      return Optional.of(
          "rank %d has the world size %d, rank 0 %d".formatted(rank, worldSize, ofFirst.worldSize));
    }
    if (!parts.keySet().equals(ofFirst.parts.keySet())) {
      return Optional.of(
          "rank %d saves the parts %s, rank 0 %s"
              .formatted(rank, parts.keySet(), ofFirst.parts.keySet()));
    }
    for (Map.Entry<String, Map<String, String>> part : parts.entrySet()) {
      Map<String, String> others = requireNonNull(ofFirst.parts.get(part.getKey()));
      Set<String> names = new TreeSet<>(part.getValue().keySet());
      names.addAll(others.keySet());
      for (String name : names) {
        String here = part.getValue().getOrDefault(name, "missing");
        String there = others.getOrDefault(name, "missing");
        if (!here.equals(there)) {
          return Optional.of(
              "tensor %s of the part %s is %s on rank %d, %s on rank 0"
                  .formatted(Quotes.shortened(name), part.getKey(), here, rank, there));
        }
      }
    }
    return Optional.empty();
  }

  String toJson() {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField(WORLD_SIZE, worldSize);
      out.writeObjectFieldStart(PARTS);
      for (Map.Entry<String, Map<String, String>> part : parts.entrySet()) {
        out.writeObjectFieldStart(part.getKey());
        for (Map.Entry<String, String> tensor : part.getValue().entrySet()) {
          out.writeStringField(tensor.getKey(), tensor.getValue());
        }
        out.writeEndObject();
      }
      out.writeEndObject();
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a string takes anything
    }
    return text.toString();
  }

  /**
   * Parses a layout.
   *
   * @throws IllegalArgumentException if it is malformed
   */
  static ShardLayout parse(String text) {
    JsonObject json = JsonObject.parse("layout", text).only(WORLD_SIZE, PARTS);
    Map<String, Map<String, String>> parts = new LinkedHashMap<>();
    JsonObject all = json.object(PARTS);
    all.names().forEach(name -> parts.put(name, all.object(name).texts()));
    return new ShardLayout(json.integer(WORLD_SIZE), parts);
  }
}
