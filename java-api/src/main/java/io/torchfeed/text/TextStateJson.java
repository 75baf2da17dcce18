// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.HexFormat;

/** The conversion of states to and from JSON: an object, written with the version first. */
final class TextStateJson {
  private static final int VERSION = 1;

  private TextStateJson() {}

  static String write(TextState state) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
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
      throw new UncheckedIOException(e); // a StringWriter never throws
    }
    return text.toString();
  }

  static TextState read(String json) {
    JsonObject state = JsonObject.parse("text state", json).only("version", "filesDigest", "rest");
    state.requireVersion(VERSION);
    return new TextState(
        state.digest("filesDigest"),
        state.objects("rest").stream().map(TextStateJson::range).toList());
  }

  private static ByteRange range(JsonObject range) {
    range.only("start", "end", "textOffset");
    return new ByteRange(range.number("start"), range.number("end"), range.number("textOffset"));
  }
}
