// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A file with which a process tells its launcher that it knows of the completed training, and so
 * does not hang. A launcher on another machine than the coordinator has no other way to know.
 */
public final class FinishNote {
  private FinishNote() {}

  /** Returns the path for the process that has a path for the loss of a peer. */
  public static Path beside(Path lossNote) {
    return lossNote.resolveSibling(lossNote.getFileName() + ".finished");
  }

  /** Writes the note if the launcher that the variables name has started this process. */
  public static void write(Map<String, String> variables) {
    @Nullable String lossNote = variables.get(RankVariables.LOSS_NOTE);
    if (lossNote == null || ParentProcess.launcher(variables).isEmpty()) {
      return;
    }
    try {
      Files.writeString(beside(Path.of(lossNote)), "");
    } catch (IOException e) {
      // The training is complete. A launcher elsewhere then ends this process after its grace.
      System.err.println("the note of the end cannot be written: " + Failures.describe(e));
    }
  }
}
