// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The lines of a {@code run.jsonl}: the processes that were a rank, and their first steps. */
final class RunNotes {
  private static final int MAX_LINE = 8192;

  /**
   * A line.
   *
   * @param fields its names and values as texts
   */
  record Note(Map<String, String> fields) {
    String text(String name) {
      return fields.getOrDefault(name, "");
    }

    long number(String name) {
      try {
        return Long.parseLong(text(name));
      } catch (NumberFormatException e) {
        return -1; // of a later version
      }
    }

    boolean isBegin() {
      return text("event").equals("begin");
    }
  }

  private RunNotes() {}

  /** Returns the lines that can be read, in their order. */
  static List<Note> read(Path file) throws IOException {
    List<Note> notes = new ArrayList<>();
    for (String line : RunFiles.lines(file)) {
      if (line.length() <= MAX_LINE) {
        Map<String, String> fields = fields(line);
        if (!fields.isEmpty()) {
          notes.add(new Note(fields));
        }
      }
    }
    return notes;
  }

  private static Map<String, String> fields(String line) {
    Map<String, String> fields = new HashMap<>();
    try (JsonParser parser = JsonObject.FACTORY.createParser(line)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        return Map.of();
      }
      for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
        if (!parser.nextToken().isScalarValue()) {
          parser.skipChildren();
        } else {
          fields.put(name, parser.getText());
        }
      }
      return fields;
    } catch (IOException e) {
      return Map.of(); // a line that a process did not complete
    }
  }
}
