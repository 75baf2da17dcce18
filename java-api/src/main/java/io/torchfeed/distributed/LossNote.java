// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A file with which a rank notifies its launcher that it lost a peer, and so did not fail first.
 *
 * <p>The order in which processes exit does not show this: a rank may report its lost peer and exit
 * while that peer, which failed first, is still closing its group. Nor does the exit code, which
 * the program chooses.
 */
final class LossNote {
  /** The environment variable that holds the path of the file; each rank has its own. */
  static final String VARIABLE = "TORCHFEED_LOSS_NOTE";

  private LossNote() {}

  /** Writes the note if this process was started by a launcher. */
  static void write() {
    @Nullable Path note = path(System.getenv());
    if (note == null) {
      return;
    }
    try {
      Files.writeString(note, "");
    } catch (IOException e) {
      // The exception about to be thrown matters more. The launcher then assumes that this rank
      // failed on its own.
      return;
    }
  }

  /** Deletes the note: the rank has joined a group after all. */
  static void clear() {
    @Nullable Path note = path(System.getenv());
    if (note == null) {
      return;
    }
    try {
      Files.deleteIfExists(note);
    } catch (IOException e) {
      return; // as above
    }
  }

  private static @Nullable Path path(Map<String, String> variables) {
    @Nullable String path = variables.get(VARIABLE);
    return path == null || !ParentWatchdog.isRank(variables) ? null : Path.of(path);
  }
}
