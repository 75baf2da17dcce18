// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.RankVariables;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The events that a recorder keeps, and the folder of its dumps.
 *
 * @param folder created if it is missing
 * @param events the newest events that it keeps, at least; a power of 2
 * @param signal the name of a signal that asks for a dump, without SIG; null for none
 */
public record RecorderSettings(Path folder, int events, @Nullable String signal) {
  /** The events that are kept by default: 8 MiB. */
  public static final int EVENTS = 1 << 17;

  /** The most events: 1 GiB. */
  public static final int MAX_EVENTS = 1 << 24;

  /** Rounds a number of events up to a power of 2. */
  public static RecorderSettings of(Path folder, int events, @Nullable String signal) {
    if (events < 1 || events > MAX_EVENTS) {
      throw new IllegalArgumentException(
          "the events of a trace must be in [1, %d], got %d".formatted(MAX_EVENTS, events));
    }
    int rounded = events == 1 ? 1 : Integer.highestOneBit(events - 1) << 1;
    return new RecorderSettings(folder, rounded, signal);
  }

  /**
   * Returns the settings of the variables; null if they ask for no trace.
   *
   * @throws IllegalArgumentException if a variable has another value; names it
   */
  static @Nullable RecorderSettings of(Map<String, String> variables) {
    String folder = variables.getOrDefault(RankVariables.TRACE, "");
    if (folder.isBlank()) {
      return null;
    }
    String events =
        variables.getOrDefault(RankVariables.TRACE_EVENTS, Integer.toString(EVENTS)).strip();
    @Nullable String signal = variables.get(RankVariables.TRACE_SIGNAL);
    try {
      return of(
          Path.of(folder),
          Integer.parseInt(events),
          signal == null || signal.isBlank() ? null : signal.strip());
    } catch (InvalidPathException e) {
      throw wrong(RankVariables.TRACE, "the path of a folder", folder, e);
    } catch (NumberFormatException e) {
      throw wrong(RankVariables.TRACE_EVENTS, "a number", events, e);
    }
  }

  private static IllegalArgumentException wrong(
      String name, String expected, String value, Exception e) {
    return new IllegalArgumentException(
        "environment variable %s must be %s, got '%s'"
            .formatted(name, expected, Quotes.printable(Quotes.shortened(value))),
        e);
  }
}
