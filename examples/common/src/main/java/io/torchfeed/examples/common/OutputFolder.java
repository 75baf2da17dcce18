// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The folder that the option {@code --out} names. Closing it removes the folders that {@link
 * #create} has created and that are still empty, as after a failure before the first result.
 */
public final class OutputFolder implements AutoCloseable {
  /** The folders that did not exist, the innermost first. */
  private final List<Path> created;

  private OutputFolder(List<Path> created) {
    this.created = created;
  }

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
   * @return the folder, to be closed by the command that writes to it
   * @throws CommandException if it cannot be created or written
   */
  public static OutputFolder create(Path out) {
    List<Path> missing = new ArrayList<>();
    for (Path at = out.toAbsolutePath(); at != null && Files.notExists(at); at = at.getParent()) {
      missing.add(at);
    }
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
    return new OutputFolder(missing);
  }

  /** Removes the folders that were created and are still empty. */
  @Override
  public void close() {
    try {
      for (Path folder : created) {
        Files.deleteIfExists(folder);
      }
    } catch (DirectoryNotEmptyException e) {
      // it has results, so it stays, as do the folders around it
    } catch (IOException e) {
      throw new UncheckedIOException("cannot remove the empty folder of --out", e);
    }
  }
}
