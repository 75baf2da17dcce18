// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

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
import java.util.List;
import org.jspecify.annotations.Nullable;

/** States as JSON: an object with the version first. */
final class TextStateJson {
  private static final int VERSION = 1;
  private static final int DIGEST_DIGITS = 16;
  private static final JsonFactory FACTORY =
      JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

  private @Nullable Long version;
  private @Nullable Long filesDigest;
  private @Nullable List<ByteRange> rest;

  private TextStateJson() {}

  static String write(TextState state) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", VERSION);
      out.writeStringField("filesDigest", HexFormat.of().toHexDigits(state.filesDigest()));
      out.writeArrayFieldStart("rest");
      for (ByteRange range : state.rest()) {
        out.writeStartObject();
        out.writeNumberField("start", range.start());
        out.writeNumberField("end", range.end());
        out.writeNumberField("textOffset", range.textOffset());
        out.writeEndObject();
      }
      out.writeEndArray();
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a StringWriter throws none
    }
    return text.toString();
  }

  static TextState read(String json) {
    try (JsonParser in = FACTORY.createParser(json)) {
      in.nextToken();
      TextStateJson state = new TextStateJson();
      state.readFields(in);
      require(in.nextToken() == null, "nothing after the object", in);
      present("version", state.version);
      return new TextState(present("filesDigest", state.filesDigest), present("rest", state.rest));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(
          "the text is not a text state in JSON: " + e.getOriginalMessage(), e);
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
        case "filesDigest" -> filesDigest = digest(in);
        case "rest" -> rest = ranges(in);
        default -> throw new IllegalArgumentException("a text state has no field " + name);
      }
    }
  }

  private static long version(JsonParser in) throws IOException {
    long version = number(in);
    if (version != VERSION) {
      throw new IllegalArgumentException(
          "the version of a text state must be %d, got %d".formatted(VERSION, version));
    }
    return version;
  }

  private static long digest(JsonParser in) throws IOException {
    boolean isText = in.hasToken(JsonToken.VALUE_STRING);
    require(isText && in.getText().length() == DIGEST_DIGITS, "16 hexadecimal digits", in);
    return HexFormat.fromHexDigitsToLong(in.getText());
  }

  private static List<ByteRange> ranges(JsonParser in) throws IOException {
    require(in.hasToken(JsonToken.START_ARRAY), "an array", in);
    List<ByteRange> ranges = new ArrayList<>();
    while (in.nextToken() != JsonToken.END_ARRAY) {
      ranges.add(range(in));
    }
    return ranges;
  }

  private static ByteRange range(JsonParser in) throws IOException {
    require(in.hasToken(JsonToken.START_OBJECT), "an object", in);
    Long start = null;
    Long end = null;
    Long textOffset = null;
    for (String name = in.nextFieldName(); name != null; name = in.nextFieldName()) {
      in.nextToken();
      switch (name) {
        case "start" -> start = number(in);
        case "end" -> end = number(in);
        case "textOffset" -> textOffset = number(in);
        default -> throw new IllegalArgumentException("a range has no field " + name);
      }
    }
    return new ByteRange(
        present("rest.start", start),
        present("rest.end", end),
        present("rest.textOffset", textOffset));
  }

  private static long number(JsonParser in) throws IOException {
    require(in.hasToken(JsonToken.VALUE_NUMBER_INT), "a whole number", in);
    return in.getLongValue();
  }

  private static <T> T present(String name, @Nullable T value) {
    if (value == null) {
      throw new IllegalArgumentException("the text state lacks the field " + name);
    }
    return value;
  }

  private static void require(boolean holds, String what, JsonParser in) {
    if (!holds) {
      throw new IllegalArgumentException(
          "a text state in JSON must have %s at %s, got %s"
              .formatted(what, in.currentLocation().offsetDescription(), in.currentToken()));
    }
  }
}
