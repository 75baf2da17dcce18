// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.checkpoint.TrainingState.Copy;
import io.torchfeed.internal.FileReplacement;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Writes checkpoints into a folder, each under a hidden name until it is complete. */
final class CheckpointWriter {
  private static final Logger LOGGER = System.getLogger("io.torchfeed.checkpoint");

  private final CheckpointFolder folder;
  private final int kept;
  private boolean isClean;

  CheckpointWriter(CheckpointFolder folder, int kept) {
    this.folder = folder;
    this.kept = kept;
  }

  /**
   * Writes a checkpoint, names it as the latest and deletes those that are too old.
   *
   * @throws CheckpointException if it cannot be written
   */
  void write(long step, Copy copy) {
    Path path = folder.path();
    try {
      if (!Files.isDirectory(path)) {
        Files.createDirectories(path);
      }
      if (!isClean) {
        folder.restoreReplaced();
        deleteHidden(CheckpointFolder.PARTIAL); // of a process that was killed
        deleteHidden(CheckpointFolder.REPLACED);
        isClean = true;
      }
      Path partial = Files.createDirectory(folder.hidden(step, CheckpointFolder.PARTIAL));
      try {
        new StepFolder(partial).write(step, copy);
        replace(partial, step);
      } catch (Throwable e) {
        deleteQuietly(partial, e);
        throw e;
      }
      ByteBuffer name = StandardCharsets.UTF_8.encode(CheckpointFolder.nameOf(step) + "\n");
      FileReplacement.write(path.resolve(CheckpointFolder.LATEST), file -> file.write(name));
      prune(step);
    } catch (IOException e) {
      throw CheckpointException.unwritable(folder.step(step), e);
    }
  }

  private void replace(Path partial, long step) throws IOException {
    Path target = folder.step(step);
    Path replaced = folder.hidden(step, CheckpointFolder.REPLACED);
    boolean replaces = Files.exists(target);
    if (replaces) {
      Files.move(target, replaced, StandardCopyOption.ATOMIC_MOVE);
    }
    try {
      Files.move(partial, target, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      if (replaces) {
        Files.move(replaced, target, StandardCopyOption.ATOMIC_MOVE);
      }
      throw e;
    }
    FileReplacement.flushFolder(folder.path());
    if (replaces) {
      deleteIfPossible(replaced);
    }
  }

  /** Deletes the oldest; later steps belong to a run that this one does not continue. */
  private void prune(long step) throws IOException {
    List<Long> steps = folder.steps().stream().filter(other -> other <= step).toList();
    for (long old : steps.subList(Math.min(kept, steps.size()), steps.size())) {
      Path hidden = folder.hidden(old, CheckpointFolder.PARTIAL);
      Files.move(folder.step(old), hidden, StandardCopyOption.ATOMIC_MOVE); // never seen in part
      deleteIfPossible(hidden);
    }
  }

  private void deleteHidden(String kind) throws IOException {
    for (Path each : folder.hidden(kind)) {
      deleteIfPossible(each);
    }
  }

  /**
   * Deletes a hidden folder. The checkpoints are complete without that: if a file of it is in use
   * or protected, the next process tries again.
   */
  private static void deleteIfPossible(Path folder) {
    try {
      delete(folder);
    } catch (IOException e) {
      LOGGER.log(Level.WARNING, "{0} cannot be deleted: {1}", folder, e.toString());
    }
  }

  private static void delete(Path folder) throws IOException {
    List<Path> all;
    try (Stream<Path> files = Files.walk(folder)) {
      all = files.sorted(Comparator.reverseOrder()).toList(); // a folder after its files
    }
    for (Path each : all) {
      Files.delete(each);
    }
  }

  private static void deleteQuietly(Path folder, Throwable cause) {
    try {
      if (Files.exists(folder)) {
        delete(folder);
      }
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }
}
