// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.internal.Quotes;
import io.torchfeed.memory.DType;
import java.io.IOException;
import java.io.Reader;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The header of a safetensors file: which tensor is where.
 *
 * @param metadata texts for any use
 * @param entries the tensors by name, in the order of their bytes
 */
record SafetensorsHeader(Map<String, String> metadata, Map<String, Entry> entries) {
  /** The most bytes of a header, as in the reference implementation. */
  static final long MAX_BYTES = 100_000_000;

  static final String METADATA = "__metadata__";

  /** Writes names as Python does, and leaves half of a surrogate pair to be refused. */
  private static final JsonFactory PLAIN = new JsonFactory();

  private static final String DTYPE = "dtype";
  private static final String SHAPE = "shape";
  private static final String OFFSETS = "data_offsets";
  private static final int MAX_DIMENSIONS = 64; // libtorch's limit

  /** The dtypes by name, in the order in which the reference implementation sorts them. */
  private static final Map<String, DType> DTYPES = new LinkedHashMap<>();

  static {
    DTYPES.put("BOOL", DType.BOOL);
    DTYPES.put("U8", DType.UINT8);
    DTYPES.put("I8", DType.INT8);
    DTYPES.put("F8_E5M2", DType.FLOAT8_E5M2);
    DTYPES.put("F8_E4M3", DType.FLOAT8_E4M3FN);
    DTYPES.put("F8_E8M0", DType.FLOAT8_E8M0FNU);
    DTYPES.put("I16", DType.INT16);
    DTYPES.put("U16", DType.UINT16);
    DTYPES.put("F16", DType.FLOAT16);
    DTYPES.put("BF16", DType.BFLOAT16);
    DTYPES.put("I32", DType.INT32);
    DTYPES.put("U32", DType.UINT32);
    DTYPES.put("F32", DType.FLOAT32);
    DTYPES.put("C64", DType.COMPLEX64);
    DTYPES.put("F64", DType.FLOAT64);
    DTYPES.put("I64", DType.INT64);
    DTYPES.put("U64", DType.UINT64);
  }

  /**
   * A tensor of a file.
   *
   * @param dtype the type of its elements
   * @param shape its sizes
   * @param begin where its bytes begin, after the header
   * @param end where they end
   */
  record Entry(DType dtype, List<Long> shape, long begin, long end) {
    /** Returns the sizes as libtorch takes them. */
    long[] sizes() {
      return shape.stream().mapToLong(Long::longValue).toArray();
    }
  }

  /** Thrown when a header breaks a rule. */
  static final class MalformedException extends Exception {
    private static final long serialVersionUID = 1L;

    MalformedException(String message) {
      super(message);
    }
  }

  /** Returns the name of a dtype in such files, or null if they cannot have it. */
  static @Nullable String nameOf(DType dtype) {
    return DTYPES.entrySet().stream()
        .filter(entry -> entry.getValue() == dtype)
        .map(Map.Entry::getKey)
        .findAny()
        .orElse(null);
  }

  /** Returns the bytes that a tensor has. */
  private static long bytes(String name, DType dtype, List<Long> shape) throws MalformedException {
    try {
      long elements = 1;
      for (long size : shape) {
        elements = Math.multiplyExact(elements, Math.max(size, 1)); // others may be huge beside a 0
      }
      long bytes = Math.multiplyExact(elements, dtype.bytes());
      return shape.contains(0L) ? 0 : bytes;
    } catch (ArithmeticException e) {
      throw new MalformedException(
          "the shape %s of %s is too large".formatted(shape, Quotes.shortened(name)));
    }
  }

  /**
   * Parses a header.
   *
   * @param text the header
   * @param dataBytes how many bytes the file has after it
   * @throws MalformedException if it breaks a rule of the format
   * @throws IOException if it is no JSON, or cannot be read
   */
  static SafetensorsHeader parse(Reader text, long dataBytes)
      throws IOException, MalformedException {
    Map<String, String> metadata = new LinkedHashMap<>();
    Map<String, Entry> entries = new LinkedHashMap<>();
    try (JsonParser in = JsonObject.FACTORY.createParser(text)) {
      require(in.nextToken() == JsonToken.START_OBJECT, "the header is not a JSON object");
      for (String name = in.nextFieldName(); name != null; name = in.nextFieldName()) {
        in.nextToken();
        if (name.equals(METADATA)) {
          readMetadata(in, metadata);
        } else {
          entries.put(name, readEntry(in, name));
        }
      }
      require(in.nextToken() == null, "the header has something after its JSON object");
    }
    return new SafetensorsHeader(metadata, inOrder(entries, dataBytes));
  }

  private static void readMetadata(JsonParser in, Map<String, String> metadata)
      throws IOException, MalformedException {
    require(in.currentToken() == JsonToken.START_OBJECT, METADATA + " is not an object");
    for (String key = in.nextFieldName(); key != null; key = in.nextFieldName()) {
      require(
          in.nextToken() == JsonToken.VALUE_STRING, METADATA + " has a value that is not a string");
      metadata.put(key, in.getText());
    }
  }

  private static Entry readEntry(JsonParser in, String name)
      throws IOException, MalformedException {
    String of = " of " + Quotes.shortened(name);
    require(in.currentToken() == JsonToken.START_OBJECT, "the value" + of + " is not an object");
    DType dtype = null;
    List<Long> shape = null;
    List<Long> offsets = null;
    for (String field = in.nextFieldName(); field != null; field = in.nextFieldName()) {
      in.nextToken();
      switch (field) {
        case DTYPE -> {
          require(in.currentToken() == JsonToken.VALUE_STRING, "the dtype" + of + " is no string");
          dtype = DTYPES.get(in.getText());
          require(
              dtype != null,
              "the dtype %s%s is not one that torchfeed reads; convert it to one of %s"
                  .formatted(
                      Quotes.shortened(in.getText()), of, String.join(", ", DTYPES.keySet())));
        }
        case SHAPE -> shape = readNumbers(in, SHAPE + of, MAX_DIMENSIONS);
        case OFFSETS -> offsets = readNumbers(in, OFFSETS + of, 2);
        default ->
            throw new MalformedException(
                "the field %s%s is unknown".formatted(Quotes.shortened(field), of));
      }
    }
    if (dtype == null || shape == null || offsets == null) {
      throw new MalformedException(
          "%s lacks one of %s, %s and %s".formatted(Quotes.shortened(name), DTYPE, SHAPE, OFFSETS));
    }
    require(offsets.size() == 2, OFFSETS + of + " are not two numbers");
    long begin = offsets.get(0);
    long bytes = bytes(name, dtype, shape);
    require(
        offsets.get(1) >= begin && offsets.get(1) - begin == bytes,
        "%s has %d bytes by its shape, but the offsets %s"
            .formatted(Quotes.shortened(name), bytes, offsets));
    return new Entry(dtype, List.copyOf(shape), begin, offsets.get(1));
  }

  private static List<Long> readNumbers(JsonParser in, String what, int max)
      throws IOException, MalformedException {
    require(in.currentToken() == JsonToken.START_ARRAY, what + " is no array");
    List<Long> numbers = new ArrayList<>();
    while (in.nextToken() != JsonToken.END_ARRAY) {
      require(
          in.currentToken() == JsonToken.VALUE_NUMBER_INT && numbers.size() < max,
          "%s is no array of at most %d whole numbers".formatted(what, max));
      long number = in.getLongValue();
      require(number >= 0, "%s has the negative number %d".formatted(what, number));
      numbers.add(number);
    }
    return numbers;
  }

  /** Returns the entries in the order of their bytes, which must fill the file. */
  private static Map<String, Entry> inOrder(Map<String, Entry> entries, long dataBytes)
      throws MalformedException {
    List<Map.Entry<String, Entry>> sorted = new ArrayList<>(entries.entrySet());
    sorted.sort(
        Comparator.comparingLong((Map.Entry<String, Entry> entry) -> entry.getValue().begin())
            .thenComparingLong(entry -> entry.getValue().end()));
    Map<String, Entry> ordered = new LinkedHashMap<>();
    long end = 0;
    for (Map.Entry<String, Entry> entry : sorted) {
      long begin = entry.getValue().begin();
      require(
          begin == end,
          "the bytes of %s begin at %d, %s the end of the tensor before it at %d"
              .formatted(
                  Quotes.shortened(entry.getKey()), begin, begin < end ? "before" : "after", end));
      end = entry.getValue().end();
      ordered.put(entry.getKey(), entry.getValue());
    }
    require(
        end == dataBytes,
        "the tensors have %d bytes, but the file has %d after its header"
            .formatted(end, dataBytes));
    return ordered;
  }

  private static void require(boolean holds, String message) throws MalformedException {
    if (!holds) {
      throw new MalformedException(message);
    }
  }

  /** Returns the header as JSON. */
  String toJson() throws IOException {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = PLAIN.createGenerator(text)) {
      out.writeStartObject();
      if (!metadata.isEmpty()) {
        out.writeObjectFieldStart(METADATA);
        for (Map.Entry<String, String> entry : metadata.entrySet()) {
          out.writeStringField(entry.getKey(), entry.getValue());
        }
        out.writeEndObject();
      }
      for (Map.Entry<String, Entry> entry : entries.entrySet()) {
        out.writeObjectFieldStart(entry.getKey());
        out.writeStringField(DTYPE, nameOf(entry.getValue().dtype()));
        out.writeFieldName(SHAPE);
        long[] shape = entry.getValue().sizes();
        out.writeArray(shape, 0, shape.length);
        out.writeFieldName(OFFSETS);
        out.writeArray(new long[] {entry.getValue().begin(), entry.getValue().end()}, 0, 2);
        out.writeEndObject();
      }
      out.writeEndObject();
    }
    return text.toString();
  }

  /**
   * Returns the order of tensors in a file: the dtypes backwards, so that larger elements are first
   * and all are aligned.
   */
  static List<String> fileOrder(Map<String, DType> dtypes) {
    List<DType> order = List.copyOf(DTYPES.values());
    return dtypes.keySet().stream()
        .sorted(
            Comparator.comparingInt(
                    (String name) -> -order.indexOf(requireNonNull(dtypes.get(name))))
                .thenComparing(Comparator.naturalOrder()))
        .toList();
  }
}
