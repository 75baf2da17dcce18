// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Sampler states as JSON: an object with the version first. */
final class StateJson {
  private static final int VERSION = 1;
  private static final JsonFactory FACTORY =
      JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

  private @Nullable Long version;
  private @Nullable String kind;
  private @Nullable Map<String, String> parameters;
  private @Nullable Long epoch;
  private @Nullable List<Segment> segments;
  private @Nullable Boolean finished;
  private @Nullable Long orderDigest;

  private StateJson() {}

  static String write(SamplerState state) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = FACTORY.createGenerator(text)) {
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
      for (Segment segment : state.segments()) {
        out.writeStartObject();
        out.writeNumberField("worldSize", segment.worldSize());
        out.writeNumberField("deliveredByEachRank", segment.deliveredByEachRank());
        out.writeEndObject();
      }
      out.writeEndArray();
      out.writeBooleanField("finished", state.finished());
      out.writeStringField("orderDigest", SamplerState.hex(state.orderDigest()));
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a StringWriter throws none
    }
    return text.toString();
  }

  static SamplerState read(String json) {
    try (JsonParser in = FACTORY.createParser(json)) {
      in.nextToken();
      StateJson state = new StateJson();
      state.readFields(in);
      require(in.nextToken() == null, "nothing after the object", in);
      return state.complete();
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(
          "the text is not a sampler state in JSON: " + e.getOriginalMessage(), e);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a String throws none
    }
  }

  private void readFields(JsonParser in) throws IOException {
    require(in.hasToken(JsonToken.START_OBJECT), "an object", in);
    for (String name = in.nextFieldName(); name != null; name = in.nextFieldName()) {
      in.nextToken();
      switch (name) {
        case "version" -> version = version(in);
        case "kind" -> kind = text(in);
        case "parameters" -> parameters = parameters(in);
        case "epoch" -> epoch = number(in);
        case "segments" -> segments = segments(in);
        case "finished" -> finished = bool(in);
        case "orderDigest" -> orderDigest = digest(in);
        default -> throw new IllegalArgumentException("a sampler state has no field " + name);
      }
    }
  }

  private SamplerState complete() {
    present("version", version);
    PlanParameters plan =
        new PlanParameters(present("kind", kind), present("parameters", parameters));
    return new SamplerState(
        plan,
        present("epoch", epoch),
        present("segments", segments),
        present("finished", finished),
        present("orderDigest", orderDigest));
  }

  private static <T> T present(String name, @Nullable T value) {
    if (value == null) {
      throw new IllegalArgumentException("the sampler state lacks the field " + name);
    }
    return value;
  }

  private static long version(JsonParser in) throws IOException {
    long version = number(in);
    if (version != VERSION) {
      throw new IllegalArgumentException(
          "the version of a sampler state must be %d, got %d".formatted(VERSION, version));
    }
    return version;
  }

  private static long digest(JsonParser in) throws IOException {
    String text = text(in);
    require(text.length() == 16, "16 hexadecimal digits", in);
    return HexFormat.fromHexDigitsToLong(text);
  }

  private static Map<String, String> parameters(JsonParser in) throws IOException {
    require(in.hasToken(JsonToken.START_OBJECT), "an object", in);
    Map<String, String> parameters = new LinkedHashMap<>();
    for (String name = in.nextFieldName(); name != null; name = in.nextFieldName()) {
      in.nextToken();
      parameters.put(name, text(in));
    }
    return parameters;
  }

  private static List<Segment> segments(JsonParser in) throws IOException {
    require(in.hasToken(JsonToken.START_ARRAY), "an array", in);
    List<Segment> segments = new ArrayList<>();
    while (in.nextToken() != JsonToken.END_ARRAY) {
      segments.add(segment(in));
    }
    return segments;
  }

  private static Segment segment(JsonParser in) throws IOException {
    require(in.hasToken(JsonToken.START_OBJECT), "an object", in);
    Integer worldSize = null;
    Long delivered = null;
    for (String name = in.nextFieldName(); name != null; name = in.nextFieldName()) {
      in.nextToken();
      switch (name) {
        case "worldSize" -> {
          number(in);
          worldSize = in.getIntValue();
        }
        case "deliveredByEachRank" -> delivered = number(in);
        default -> throw new IllegalArgumentException("a segment has no field " + name);
      }
    }
    return new Segment(
        present("segments.worldSize", worldSize),
        present("segments.deliveredByEachRank", delivered));
  }

  private static long number(JsonParser in) throws IOException {
    require(in.hasToken(JsonToken.VALUE_NUMBER_INT), "a whole number", in);
    return in.getLongValue();
  }

  private static String text(JsonParser in) throws IOException {
    require(in.hasToken(JsonToken.VALUE_STRING), "a text", in);
    return in.getText();
  }

  private static boolean bool(JsonParser in) throws IOException {
    require(in.currentToken().isBoolean(), "true or false", in);
    return in.getBooleanValue();
  }

  private static void require(boolean holds, String what, JsonParser in) {
    if (!holds) {
      throw new IllegalArgumentException(
          "a sampler state in JSON must have %s at %s, got %s"
              .formatted(what, in.currentLocation().offsetDescription(), in.currentToken()));
    }
  }
}
