// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** The folder that the option {@code --out} names. */
public final class OutputFolder {
  private OutputFolder() {}

  /**
   * Returns a folder for a run that names none, {@code runs/NAME-DATE-TIME}.
   *
   * @param name the example
   * @return the folder, which is not created
   */
  public static Path ofNewRun(String name) {
    DateTimeFormatter format = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss", Locale.ROOT);
    return Path.of("runs", name + "-" + LocalDateTime.now(ZoneId.systemDefault()).format(format));
  }

  /**
   * Creates a folder and those above it, unless they exist.
   *
   * @param out the value of {@code --out}
   * @throws CommandException if it cannot be created or written
   */
  public static void create(Path out) {
    String rule = "--out must be a folder that can be created and written, got " + out;
    try {
      Files.createDirectories(out);
    } catch (IOException e) {
      throw CommandException.wrongUse(
          rule + " (" + e.getClass().getSimpleName() + ": " + e.getMessage() + ")", e);
    }
    if (!Files.isWritable(out)) {
      throw CommandException.wrongUse(rule + " (permission denied)");
    }
  }
}
