// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.bindings.Libtorch;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Properties;

/**
 * The lines of a {@code run.jsonl} beside the curves of a rank, a JSON object each: the process
 * that became this rank, its first step, its machine and versions; and its last step, if it ended
 * in order. A line is written at once, so that it survives a kill.
 */
final class RunNote {
  private static final String NAME = "run.jsonl";
  private static final int VERSION = 1;

  private RunNote() {}

  /** The fields of a line behind those that all have. */
  private interface Fields {
    void write(JsonGenerator out) throws IOException;
  }

  /**
   * Notes that this process begins to be a rank.
   *
   * @param completed the steps completed before
   */
  static void begin(Path folder, Step step, long completed) throws IOException {
    write(
        folder,
        "begin",
        step,
        completed,
        out -> {
          out.writeNumberField("process", ProcessHandle.current().pid());
          out.writeStringField("host", hostName());
          out.writeStringField("system", system());
          out.writeNumberField("processors", Runtime.getRuntime().availableProcessors());
          out.writeStringField("java", System.getProperty("java.version"));
          out.writeStringField("torchfeed", version());
          out.writeStringField("libtorch", Libtorch.version());
        });
  }

  /**
   * Notes the end of that.
   *
   * @param loader the figures of the loader at the last point of the curves
   */
  static void end(Path folder, Step step, long completed, String loader) throws IOException {
    write(folder, "end", step, completed, out -> out.writeStringField("loader", loader));
  }

  private static void write(Path folder, String event, Step step, long completed, Fields fields)
      throws IOException {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", VERSION);
      out.writeStringField("event", event);
      out.writeStringField("time", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
      out.writeNumberField("rank", step.rank());
      out.writeNumberField("ranks", step.worldSize());
      out.writeNumberField("step", completed);
      fields.write(out);
      out.writeEndObject();
    }
    Files.writeString(
        folder.resolve(NAME),
        text.append('\n').toString(),
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
  }

  private static String system() {
    return "%s %s %s"
        .formatted(
            System.getProperty("os.name"),
            System.getProperty("os.version"),
            System.getProperty("os.arch"));
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "localhost"; // a machine that has no address for its own name
    }
  }

  private static String version() throws IOException {
    try (InputStream in = RunNote.class.getResourceAsStream("/io/torchfeed/build.properties")) {
      Properties properties = new Properties();
      properties.load(in);
      return properties.getProperty("version");
    }
  }
}
