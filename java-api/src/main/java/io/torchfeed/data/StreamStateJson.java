// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import io.torchfeed.sampler.PlanParameters;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Stream states as JSON: an object with the version first. */
final class StreamStateJson {
  private static final long VERSION = 1;
  private static final JsonFactory FACTORY =
      JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

  private StreamStateJson() {}

  static String write(StreamState state) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = FACTORY.createGenerator(text)) {
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
      for (ShardPosition position : state.positions()) {
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
      throw new UncheckedIOException(e); // a StringWriter throws none
    }
    return text.toString();
  }

  static StreamState read(String json) {
    try (JsonParser in = FACTORY.createParser(json)) {
      in.nextToken();
      Map<String, @Nullable Object> state = object(in);
      require(in.nextToken() == null, "nothing after the object", in);
      StreamState read = state(state);
      requireNothingElse(state);
      return read;
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(
          "the text is not a stream state in JSON: " + e.getOriginalMessage(), e);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a String throws none
    }
  }

  private static StreamState state(Map<String, @Nullable Object> fields) {
    long version = take(fields, "version", Long.class);
    if (version != VERSION) {
      throw new IllegalArgumentException(
          "the version of a stream state must be %d, got %d".formatted(VERSION, version));
    }
    PlanParameters dataset = PlanParameters.of(take(fields, "kind", String.class));
    Map<?, ?> parameters = take(fields, "parameters", Map.class);
    for (Map.Entry<?, ?> parameter : parameters.entrySet()) {
      if (!(parameter.getValue() instanceof String value)) {
        throw new IllegalArgumentException("parameters must be texts, got " + parameters);
      }
      dataset = dataset.with((String) parameter.getKey(), value);
    }
    List<ShardPosition> positions = new ArrayList<>();
    for (Object position : take(fields, "positions", List.class)) {
      if (!(position instanceof Map<?, ?> map)) {
        throw new IllegalArgumentException("positions must be objects, got " + position);
      }
      positions.add(position(map));
    }
    return new StreamState(
        dataset,
        take(fields, "epoch", Long.class),
        takeInt(fields, "shards"),
        positions,
        takeInt(fields, "next"),
        take(fields, "batches", Long.class),
        take(fields, "finished", Boolean.class));
  }

  private static ShardPosition position(Map<?, ?> map) {
    Map<String, @Nullable Object> fields = new LinkedHashMap<>();
    map.forEach((name, value) -> fields.put((String) name, value));
    String place = fields.get("position") == null ? null : take(fields, "position", String.class);
    fields.remove("position");
    ShardPosition position =
        new ShardPosition(
            takeInt(fields, "shard"),
            place,
            take(fields, "samples", Long.class),
            take(fields, "ended", Boolean.class));
    requireNothingElse(fields);
    return position;
  }

  private static <T> T take(Map<String, @Nullable Object> fields, String name, Class<T> type) {
    Object value = fields.remove(name);
    if (!type.isInstance(value)) {
      throw new IllegalArgumentException(
          "a stream state must have a %s %s, got %s".formatted(type.getSimpleName(), name, value));
    }
    return type.cast(value);
  }

  private static int takeInt(Map<String, @Nullable Object> fields, String name) {
    long value = take(fields, name, Long.class);
    if ((int) value != value) {
      throw new IllegalArgumentException(
          "%s of a stream state must be an int, got %d".formatted(name, value));
    }
    return (int) value;
  }

  private static void requireNothingElse(Map<String, @Nullable Object> fields) {
    if (!fields.isEmpty()) {
      throw new IllegalArgumentException("a stream state has no field " + fields.keySet());
    }
  }

  private static Map<String, @Nullable Object> object(JsonParser in) throws IOException {
    require(in.hasToken(JsonToken.START_OBJECT), "an object", in);
    Map<String, @Nullable Object> fields = new LinkedHashMap<>();
    for (String name = in.nextFieldName(); name != null; name = in.nextFieldName()) {
      in.nextToken();
      fields.put(name, value(in));
    }
    return fields;
  }

  private static @Nullable Object value(JsonParser in) throws IOException {
    return switch (in.currentToken()) {
      case START_OBJECT -> object(in);
      case START_ARRAY -> {
        List<Object> values = new ArrayList<>();
        while (in.nextToken() != JsonToken.END_ARRAY) {
          values.add(object(in));
        }
        yield values;
      }
      case VALUE_NUMBER_INT -> in.getLongValue();
      case VALUE_STRING -> in.getText();
      case VALUE_TRUE, VALUE_FALSE -> in.getBooleanValue();
      case VALUE_NULL -> null;
      default -> {
        require(false, "a value", in);
        yield null;
      }
    };
  }

  private static void require(boolean holds, String what, JsonParser in) {
    if (!holds) {
      throw new IllegalArgumentException(
          "a stream state in JSON must have %s at %s, got %s"
              .formatted(what, in.currentLocation().offsetDescription(), in.currentToken()));
    }
  }
}
