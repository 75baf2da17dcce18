// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Folders with their content. */
public final class Folders {
  private Folders() {}

  /** Deletes a folder and all that is in it; links in it are deleted, not followed. */
  public static void delete(Path folder) throws IOException {
    clear(folder);
    Files.delete(folder);
  }

  /** Deletes all that is in a folder; links in it are deleted, not followed. */
  public static void clear(Path folder) throws IOException {
    List<Path> all;
    try (Stream<Path> files = Files.walk(folder).skip(1)) {
      all = files.sorted(Comparator.reverseOrder()).toList(); // a folder after its files
    }
    for (Path each : all) {
      Files.delete(each);
    }
  }
}
