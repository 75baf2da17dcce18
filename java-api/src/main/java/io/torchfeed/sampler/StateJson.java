// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;

/** Sampler states as JSON: an object with the version first. */
final class StateJson {
  private static final int VERSION = 1;

  /** Is left out where false, as in all states before it existed. */
  private static final String PART_ENDED = ResumeMismatchException.PART_ENDED;

  private StateJson() {}

  static String write(SamplerState state) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", VERSION);
      out.writeStringField("kind", state.plan().kind());
      out.writeObjectFieldStart("parameters");
      for (Map.Entry<String, String> parameter : state.plan().values().entrySet()) {
        out.writeStringField(parameter.getKey(), parameter.getValue());
      }
      out.writeEndObject();
      out.writeNumberField("epoch", state.epoch());
      out.writeArrayFieldStart("segments");
      for (EpochSegment segment : state.segments()) {
        out.writeStartObject();
        out.writeNumberField("worldSize", segment.worldSize());
        out.writeNumberField("deliveredByEachRank", segment.deliveredByEachRank());
        out.writeEndObject();
      }
      out.writeEndArray();
      out.writeBooleanField("finished", state.finished());
      out.writeStringField("orderDigest", SamplerState.hex(state.orderDigest()));
      if (state.partEnded()) {
        out.writeBooleanField(PART_ENDED, true);
      }
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a StringWriter never throws
    }
    return text.toString();
  }

  static SamplerState read(String json) {
    JsonObject state =
        JsonObject.parse("sampler state", json)
            .only(
                "version",
                "kind",
                "parameters",
                "epoch",
                "segments",
                "finished",
                "orderDigest",
                PART_ENDED);
    state.requireVersion(VERSION);
    PlanParameters plan =
        new PlanParameters(state.text("kind"), state.object("parameters").texts());
    List<EpochSegment> segments =
        state.objects("segments").stream().map(StateJson::segment).toList();
    return new SamplerState(
        plan,
        state.number("epoch"),
        segments,
        state.bool("finished"),
        state.digest("orderDigest"),
        state.has(PART_ENDED) && state.bool(PART_ENDED));
  }

  private static EpochSegment segment(JsonObject segment) {
    segment.only("worldSize", "deliveredByEachRank");
    return new EpochSegment(segment.integer("worldSize"), segment.number("deliveredByEachRank"));
  }
}
