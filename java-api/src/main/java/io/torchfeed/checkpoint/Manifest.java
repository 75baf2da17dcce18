// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The description of a checkpoint: {@code manifest.json} in its folder.
 *
 * @param step number of the step after which it was taken
 * @param parts the parts by name
 */
record Manifest(long step, Map<String, Part> parts) {
  private static final int VERSION = 1;

  /**
   * A part.
   *
   * @param json its state except the tensors
   * @param file its tensors; null if it has none
   */
  record Part(String json, @Nullable SavedFile file) {}

  /**
   * A file beside the manifest.
   *
   * @param name its name
   * @param bytes its size
   * @param sha256 its digest in hexadecimal digits
   */
  record SavedFile(String name, long bytes, String sha256) {}

  /**
   * Parses a manifest.
   *
   * @throws IllegalArgumentException if it is malformed
   */
  static Manifest parse(String text) {
    JsonObject json = JsonObject.parse("manifest", text);
    json.only("version", "step", "parts").requireVersion(VERSION);
    Map<String, Part> parts = new LinkedHashMap<>();
    JsonObject all = json.object("parts");
    for (String name : all.names()) {
      JsonObject part = all.object(name).only("state", "file");
      SavedFile saved = null;
      if (part.has("file")) {
        JsonObject file = part.object("file").only("name", "bytes", "sha256");
        saved = new SavedFile(file.text("name"), file.number("bytes"), file.text("sha256"));
        if (!saved.name().equals(fileName(name))) {
          throw new IllegalArgumentException(
              "the file of the part %s must be named %s".formatted(name, fileName(name)));
        }
      }
      parts.put(name, new Part(part.object("state").toString(), saved));
    }
    return new Manifest(json.number("step"), parts);
  }

  /** Returns the name of the file with a part's tensors. */
  static String fileName(String part) {
    return part + ".safetensors";
  }

  String toJson() {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", VERSION);
      out.writeNumberField("step", step);
      out.writeObjectFieldStart("parts");
      for (Map.Entry<String, Part> part : parts.entrySet()) {
        out.writeObjectFieldStart(part.getKey());
        out.writeFieldName("state");
        out.writeRawValue(part.getValue().json());
        SavedFile file = part.getValue().file();
        if (file != null) {
          out.writeObjectFieldStart("file");
          out.writeStringField("name", file.name());
          out.writeNumberField("bytes", file.bytes());
          out.writeStringField("sha256", file.sha256());
          out.writeEndObject();
        }
        out.writeEndObject();
      }
      out.writeEndObject();
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a string takes anything
    }
    return text.append('\n').toString();
  }
}
