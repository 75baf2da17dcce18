// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The JSON of the states in this package: a version, the kind of object, values that must not
 * differ, and fields of the object.
 */
final class DistributedStateJson {
  private static final int VERSION = 1;
  private static final List<String> HEAD = List.of("version", "kind", "layout");

  private DistributedStateJson() {}

  @FunctionalInterface
  interface Fields {
    void write(JsonGenerator out) throws IOException;
  }

  /** Returns a layout that includes the rank, for a state that fits no other. */
  static List<String> withRank(Part part, List<String> layout) {
    List<String> all = new ArrayList<>();
    all.add("rank " + part.rank() + " of " + part.worldSize());
    all.addAll(layout);
    return all;
  }

  static String write(String kind, List<String> layout, Fields fields) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", VERSION);
      out.writeStringField("kind", kind);
      writeTexts(out, "layout", layout);
      fields.write(out);
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a StringWriter never throws
    }
    return text.toString();
  }

  static void writeTexts(JsonGenerator out, String name, List<String> texts) throws IOException {
    out.writeArrayFieldStart(name);
    for (String text : texts) {
      out.writeString(text);
    }
    out.writeEndArray();
  }

  /**
   * Returns the JSON of a state.
   *
   * @param fields the object's own fields
   * @throws IllegalArgumentException if it is malformed, or of another kind or layout
   */
  static JsonObject read(StateDict state, String kind, List<String> layout, String... fields) {
    JsonObject json = JsonObject.parse("state of a " + kind, requireNonNull(state, "state").json());
    String got = json.text("kind");
    if (!got.equals(kind)) {
      throw new IllegalArgumentException("the state must be of the kind " + kind + ", got " + got);
    }
    List<String> names = new ArrayList<>(HEAD);
    names.addAll(List.of(fields));
    json.only(names.toArray(String[]::new)).requireVersion(VERSION);
    requireEqual(kind, json.texts("layout"), layout);
    return json;
  }

  private static void requireEqual(String kind, List<String> then, List<String> now) {
    for (int i = 0; i < Math.max(then.size(), now.size()); i++) {
      String before = i < then.size() ? then.get(i) : "nothing";
      String here = i < now.size() ? now.get(i) : "nothing";
      if (!before.equals(here)) {
        throw new IllegalArgumentException(
            "the state is of another %s; first difference: the state has %s, here is %s"
                .formatted(kind, before, here));
      }
    }
  }

  /** Throws if steps have been run: a state is restored before. */
  static void requireFresh(long steps) {
    if (steps > 0) {
      throw new IllegalStateException(
          "a state is restored before the first step, got " + steps + " steps");
    }
  }
}
