// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.FileReplacement;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The file in which a process says why it failed, as torchelastic defines it: {@code
 * TORCHELASTIC_ERROR_FILE} names it, and Python's {@code @record} writes it.
 *
 * <p>{@link Launcher} and torchrun set the variable for each process, and quote the file when the
 * process fails. A launcher that torchrun has started passes on the file of the first process that
 * failed.
 *
 * <pre>{@code
 * ErrorFile.recordUncaught(); // first in main
 * }</pre>
 */
public final class ErrorFile {
  static final String VARIABLE = "TORCHELASTIC_ERROR_FILE";

  /** More than any message and its stack trace have. */
  private static final long MAX_BYTES = 1 << 20;

  private ErrorFile() {}

  /**
   * Writes the file for a failure, unless this process has written it already or was not given one.
   * If it cannot be written, standard error says so.
   *
   * @param failure the failure because of which the process is about to end
   */
  public static void record(Throwable failure) {
    requireNonNull(failure, "failure");
    record(failure, System.getenv());
  }

  /**
   * Makes exceptions that end a thread be {@linkplain #record recorded}, before the default handler
   * that is set now gets them or, without one, standard error their stack trace.
   */
  public static void recordUncaught() {
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, failure) -> {
          try {
            record(failure);
          } finally { // also if there is no memory for a record
            if (before != null) {
              before.uncaughtException(thread, failure);
            } else {
              System.err.print("Exception in thread \"" + thread.getName() + "\" ");
              failure.printStackTrace();
            }
          }
        });
  }

  static void record(Throwable failure, Map<String, String> variables) {
    write(json(Failures.describe(failure), stackTrace(failure), Instant.now()), variables);
  }

  /** Writes the file of this process, unless it exists. */
  static void write(String json, Map<String, String> variables) {
    @Nullable String name = variables.get(VARIABLE);
    if (name == null || name.isBlank()) {
      return;
    }
    try {
      Path file = Path.of(name);
      if (!Files.exists(file)) {
        ByteBuffer bytes = StandardCharsets.UTF_8.encode(json);
        FileReplacement.write(
            file,
            channel -> {
              while (bytes.hasRemaining()) {
                channel.write(bytes);
              }
            });
      }
    } catch (IOException | InvalidPathException e) {
      System.err.println("the error file cannot be written: " + Failures.describe(e));
    }
  }

  private static String stackTrace(Throwable failure) {
    StringWriter text = new StringWriter();
    failure.printStackTrace(new PrintWriter(text, true));
    return text.toString();
  }

  /** Returns the content of a file about a failure at a time. */
  static String json(String message, String stackTrace, Instant time) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeObjectFieldStart("message");
      out.writeStringField("message", message);
      out.writeObjectFieldStart("extraInfo");
      out.writeStringField("py_callstack", stackTrace);
      out.writeStringField("timestamp", Long.toString(time.getEpochSecond()));
    } catch (IOException e) {
      throw new IllegalStateException("a text cannot fail to be written", e);
    }
    return text.toString();
  }

  /** Reads the file of a process that has failed; empty if it wrote none that can be read. */
  static Optional<String> read(Path file) {
    try {
      return Files.isRegularFile(file) && Files.size(file) <= MAX_BYTES
          ? Optional.of(Files.readString(file))
          : Optional.empty();
    } catch (IOException e) {
      return Optional.empty(); // also if it is no text: the standard error has the rest
    }
  }

  /** Returns the message in a file; the whole text if it has another form. */
  static String message(String json) {
    try {
      JsonObject object = JsonObject.parse("error file", json).object("message");
      return object.text("message");
    } catch (IllegalArgumentException e) {
      return json.strip();
    }
  }
}
