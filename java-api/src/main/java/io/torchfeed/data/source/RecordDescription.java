// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The description in a record file, JSON: the names of the classes, and how many of the images are
 * in tiles.
 */
final class RecordDescription {
  private static final String CLASSES = "classes";
  private static final String IMAGES = "images";
  private static final String TILED = "imagesInTiles";

  private RecordDescription() {}

  static String write(List<String> classes, long images, long tiled) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeArrayFieldStart(CLASSES);
      for (String name : classes) {
        out.writeString(name);
      }
      out.writeEndArray();
      out.writeNumberField(IMAGES, images);
      out.writeNumberField(TILED, tiled);
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // writing to a String never throws
    }
    return text.toString();
  }

  /**
   * Returns the names of the classes.
   *
   * @param json the description
   * @throws UncheckedIOException if the description is not one
   */
  static List<String> classes(Path file, String json) {
    try {
      return JsonObject.parse("description of image records", json)
          .only(CLASSES, IMAGES, TILED)
          .texts(CLASSES);
    } catch (IllegalArgumentException e) {
      throw new UncheckedIOException(
          "%s cannot be opened: %s".formatted(file, Failures.reason(e)), new IOException(e));
    }
  }
}
