// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A JSON object that is read strictly: it has the declared fields and no others, each of its type.
 * All failures are {@link IllegalArgumentException}s that name the field.
 */
public final class JsonObject {
  /**
   * The factory of the parsers and generators of states. It escapes surrogates, since UTF-8 has no
   * form for one without a pair. Names and texts may have any length: each file that is read has a
   * limit of its own.
   */
  public static final JsonFactory FACTORY =
      new JsonFactoryBuilder()
          .highestNonEscapedChar(Character.MIN_SURROGATE - 1)
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNameLength(Integer.MAX_VALUE)
                  .maxStringLength(Integer.MAX_VALUE)
                  .build())
          .build();

  private static final int LONG_DIGITS = 16;

  private final String what;
  private final String path;
  private final Map<String, @Nullable Object> fields = new LinkedHashMap<>();
  private String source = "";
  private int start; // of this object in the source
  private int end;

  private JsonObject(String what, String path) {
    this.what = what;
    this.path = path;
  }

  /**
   * Parses a text.
   *
   * @param what names the object in messages, for example "sampler state"
   * @throws IllegalArgumentException if the text is not one JSON object, or has a field twice
   */
  public static JsonObject parse(String what, String json) {
    try (JsonParser in = FACTORY.createParser(json)) {
      JsonObject object = new JsonObject(what, "");
      if (in.nextToken() != JsonToken.START_OBJECT) {
        throw object.unexpected("an object", in);
      }
      object.readFields(json, in);
      if (in.nextToken() != null) {
        throw object.unexpected("nothing after the object", in);
      }
      return object;
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(
          "the text is not a %s in JSON: %s".formatted(what, problem(e)), e);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // reading a String never throws
    }
  }

  /** Returns the first part of a parser's message, without its settings, and the place. */
  private static String problem(JsonProcessingException e) {
    String message = e.getOriginalMessage().replaceFirst(" \\(start marker at .*", "");
    JsonLocation place = e.getLocation(); // none if the text exceeds a limit of the parser
    return Quotes.shortened(message)
        + (place == null ? "" : " at character " + place.getCharOffset());
  }

  private void readFields(String text, JsonParser in) throws IOException {
    source = text;
    start = (int) in.currentTokenLocation().getCharOffset();
    for (String name = in.nextFieldName(); name != null; name = in.nextFieldName()) {
      in.nextToken();
      fields.put(name, value(name, source, in));
    }
    end = (int) in.currentLocation().getCharOffset();
  }

  private @Nullable Object value(String name, String source, JsonParser in) throws IOException {
    return switch (in.currentToken()) {
      case START_OBJECT -> {
        JsonObject inner = new JsonObject(what, path + name + ".");
        inner.readFields(source, in);
        yield inner;
      }
      case START_ARRAY -> {
        List<@Nullable Object> values = new ArrayList<>();
        while (in.nextToken() != JsonToken.END_ARRAY) {
          values.add(value(name, source, in));
        }
        yield values;
      }
      case VALUE_NUMBER_INT -> in.getLongValue();
      case VALUE_NUMBER_FLOAT -> in.getDoubleValue();
      case VALUE_STRING -> in.getText();
      case VALUE_TRUE, VALUE_FALSE -> in.getBooleanValue();
      case VALUE_NULL -> null;
      default -> throw unexpected("a value", in);
    };
  }

  private IllegalArgumentException unexpected(String expected, JsonParser in) {
    return new IllegalArgumentException(
        "a %s in JSON must have %s at %s, got %s"
            .formatted(
                what, expected, in.currentLocation().offsetDescription(), in.currentToken()));
  }

  /**
   * Declares the fields.
   *
   * @throws IllegalArgumentException if the object has another field
   */
  public JsonObject only(String... names) {
    for (String name : fields.keySet()) {
      if (!List.of(names).contains(name)) {
        throw new IllegalArgumentException(
            "the %s has the unknown field %s".formatted(what, Quotes.shortened(path + name)));
      }
    }
    return this;
  }

  /** Returns the names of the fields, in the order of the text. */
  public List<String> names() {
    return List.copyOf(fields.keySet());
  }

  /** Returns whether the object has a field. */
  public boolean has(String name) {
    return fields.containsKey(name);
  }

  /** Requires that the field {@code version} has a value. */
  public void requireVersion(long expected) {
    long version = number("version");
    if (version != expected) {
      throw new IllegalArgumentException(
          "the version of a %s must be %d, got %d".formatted(what, expected, version));
    }
  }

  /** Requires that the field {@code kind} has a value. */
  public void requireKind(String expected) {
    if (!text("kind").equals(expected)) {
      throw new IllegalArgumentException(
          "the state must be of the kind %s, got %s".formatted(expected, text("kind")));
    }
  }

  /** Returns a string. */
  public String text(String name) {
    return take(name, String.class, "a string");
  }

  /** Returns a string, or null if the field is null or missing. */
  public @Nullable String textOrNull(String name) {
    return fields.get(name) == null ? null : text(name);
  }

  /** Returns a whole number. */
  public long number(String name) {
    return take(name, Long.class, "a whole number");
  }

  /** Returns a number with a fraction. */
  public double real(String name) {
    return take(name, Double.class, "a number with a fraction");
  }

  /** Returns a number, with or without a fraction. */
  public double decimal(String name) {
    return take(name, Number.class, "a number").doubleValue();
  }

  /** Returns an array of numbers, with or without fractions. */
  public List<Double> decimals(String name) {
    return elements(name, Number.class, "an array of numbers").stream()
        .map(Number::doubleValue)
        .toList();
  }

  /** Returns a whole number that is an int. */
  public int integer(String name) {
    long value = number(name);
    if ((int) value != value) {
      throw wrong(name, "an int", value);
    }
    return (int) value;
  }

  /** Returns true or false. */
  public boolean bool(String name) {
    return take(name, Boolean.class, "true or false");
  }

  /** Returns a number of 16 hexadecimal digits. */
  public long digest(String name) {
    String text = text(name);
    if (text.length() != LONG_DIGITS || !text.chars().allMatch(HexFormat::isHexDigit)) {
      throw wrong(name, LONG_DIGITS + " hexadecimal digits", text);
    }
    return HexFormat.fromHexDigitsToLong(text);
  }

  /** Returns an object. */
  public JsonObject object(String name) {
    return take(name, JsonObject.class, "an object");
  }

  /** Returns an array of objects. */
  public List<JsonObject> objects(String name) {
    return elements(name, JsonObject.class, "an array of objects");
  }

  /** Returns an array of whole numbers. */
  public List<Long> numbers(String name) {
    return elements(name, Long.class, "an array of whole numbers");
  }

  /** Returns an array of strings. */
  public List<String> texts(String name) {
    return elements(name, String.class, "an array of strings");
  }

  /** Returns all fields, which must be strings. */
  public Map<String, String> texts() {
    Map<String, String> texts = new LinkedHashMap<>();
    fields.keySet().forEach(name -> texts.put(name, text(name)));
    return texts;
  }

  private <T> List<T> elements(String name, Class<T> type, String expected) {
    List<?> values = take(name, List.class, expected);
    List<T> elements = new ArrayList<>();
    for (Object value : values) {
      if (!type.isInstance(value)) {
        throw wrong(name, expected, values);
      }
      elements.add(type.cast(value));
    }
    return elements;
  }

  private <T> T take(String name, Class<T> type, String expected) {
    if (!has(name)) {
      throw new IllegalArgumentException("the %s lacks the field %s%s".formatted(what, path, name));
    }
    Object value = fields.get(name);
    if (!type.isInstance(value)) {
      throw wrong(name, expected, value);
    }
    return type.cast(value);
  }

  private IllegalArgumentException wrong(String name, String expected, @Nullable Object value) {
    String got =
        value instanceof List<?> array
            ? "an array of %d elements".formatted(array.size())
            : value instanceof JsonObject ? "an object" : String.valueOf(value);
    return new IllegalArgumentException(
        "the field %s%s of a %s must have %s, got %s"
            .formatted(path, name, what, expected, Quotes.shortened(got)));
  }

  /** Returns the text of the object. */
  @Override
  public String toString() {
    return source.substring(start, end);
  }
}
