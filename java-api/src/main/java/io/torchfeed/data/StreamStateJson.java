// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.sampler.PlanParameters;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;

/** The JSON form of stream states: an object with the version first. */
final class StreamStateJson {
  private static final long VERSION = 1;

  private StreamStateJson() {}

  static String write(LoaderState.StreamState state) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", VERSION);
      out.writeStringField("kind", state.dataset().kind());
      out.writeObjectFieldStart("parameters");
      for (Map.Entry<String, String> parameter : state.dataset().values().entrySet()) {
        out.writeStringField(parameter.getKey(), parameter.getValue());
      }
      out.writeEndObject();
      out.writeNumberField("epoch", state.epoch());
      out.writeNumberField("shards", state.shards());
      out.writeArrayFieldStart("positions");
      for (LoaderState.ShardPosition position : state.positions()) {
        out.writeStartObject();
        out.writeNumberField("shard", position.shard());
        out.writeStringField("position", position.position());
        out.writeNumberField("samples", position.samples());
        out.writeBooleanField("ended", position.isEnded());
        out.writeEndObject();
      }
      out.writeEndArray();
      out.writeNumberField("next", state.next());
      out.writeNumberField("batches", state.batches());
      out.writeBooleanField("finished", state.finished());
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // never thrown by a StringWriter
    }
    return text.toString();
  }

  static LoaderState.StreamState read(String json) {
    JsonObject state =
        JsonObject.parse("stream state", json)
            .only(
                "version",
                "kind",
                "parameters",
                "epoch",
                "shards",
                "positions",
                "next",
                "batches",
                "finished");
    state.requireVersion(VERSION);
    PlanParameters dataset =
        new PlanParameters(state.text("kind"), state.object("parameters").texts());
    List<LoaderState.ShardPosition> positions =
        state.objects("positions").stream().map(StreamStateJson::position).toList();
    return new LoaderState.StreamState(
        dataset,
        state.number("epoch"),
        state.integer("shards"),
        positions,
        state.integer("next"),
        state.number("batches"),
        state.bool("finished"));
  }

  private static LoaderState.ShardPosition position(JsonObject position) {
    position.only("shard", "position", "samples", "ended");
    return new LoaderState.ShardPosition(
        position.integer("shard"),
        position.textOrNull("position"),
        position.number("samples"),
        position.bool("ended"));
  }
}
