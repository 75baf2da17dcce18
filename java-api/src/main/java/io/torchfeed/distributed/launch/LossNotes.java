// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * The launcher's folder for the {@linkplain io.torchfeed.distributed.rendezvous.LossNote notes} of
 * its ranks.
 */
final class LossNotes implements AutoCloseable {
  private final Path folder;

  private LossNotes(Path folder) {
    this.folder = folder;
  }

  static LossNotes create() throws IOException {
    return new LossNotes(Files.createTempDirectory("torchfeed-launcher"));
  }

  /** Returns the path of a process's note, which does not exist yet. */
  Path of(String process) {
    return folder.resolve(process);
  }

  /** Returns the error file of the process that has a note. */
  static Path errorFile(Path note) {
    return note.resolveSibling(note.getFileName() + ".json");
  }

  @Override
  public void close() {
    try {
      try (Stream<Path> notes = Files.list(folder)) {
        for (Path note : notes.toList()) {
          Files.deleteIfExists(note);
        }
      }
      Files.deleteIfExists(folder);
    } catch (IOException | UncheckedIOException e) {
      return; // an empty file in the temporary folder is no reason to fail
    }
  }
}
