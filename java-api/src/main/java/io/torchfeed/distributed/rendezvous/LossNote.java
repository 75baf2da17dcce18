// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.internal.RankVariables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * A file with which a rank notifies its launcher that it lost a peer, and so did not fail first.
 *
 * <p>The order in which processes exit does not show this: a rank may report its lost peer and exit
 * while that peer, which failed first, is still closing its group. Nor does the exit code, which
 * the program chooses.
 */
public final class LossNote {
  private LossNote() {}

  /**
   * Writes the note, and returns the exception to throw.
   *
   * @param start when the operation began, a value of {@link System#nanoTime}
   * @param rank the rank that was lost, or empty if unknown
   */
  public static PeerLostException lost(
      String operation, long start, OptionalInt rank, String reason, @Nullable Throwable cause) {
    Duration waited = Duration.ofNanos(System.nanoTime() - start);
    write();
    return new PeerLostException(operation, waited, rank, reason, cause);
  }

  /** Writes the note if this process was started by a launcher. */
  public static void write() {
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
  public static void clear() {
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
    @Nullable String path = variables.get(RankVariables.LOSS_NOTE);
    return path == null || !ParentWatchdog.isRank(variables) ? null : Path.of(path);
  }
}
