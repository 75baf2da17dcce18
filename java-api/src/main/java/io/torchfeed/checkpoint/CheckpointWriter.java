// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.checkpoint.TrainingState.Copy;
import io.torchfeed.internal.FileReplacement;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.UUID;

/** Writes checkpoints into a folder, each under a hidden name until it is complete. */
final class CheckpointWriter {
  private static final String PARTIAL = ".partial-";

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
      Files.createDirectories(path);
      if (!isClean) {
        deletePartial(path); // of a process that was killed
        isClean = true;
      }
      Path partial = Files.createDirectory(hidden(step));
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

  private Path hidden(long step) {
    return folder.path().resolve("." + CheckpointFolder.nameOf(step) + PARTIAL + UUID.randomUUID());
  }

  private void replace(Path partial, long step) throws IOException {
    Path target = folder.step(step);
    Path replaced = null;
    if (Files.exists(target)) {
      replaced = hidden(step);
      Files.move(target, replaced, StandardCopyOption.ATOMIC_MOVE);
    }
    Files.move(partial, target, StandardCopyOption.ATOMIC_MOVE);
    FileReplacement.flushFolder(folder.path());
    if (replaced != null) {
      delete(replaced);
    }
  }

  /** Deletes the oldest; later steps belong to a run that this one does not continue. */
  private void prune(long step) throws IOException {
    List<Long> steps = folder.steps().stream().filter(other -> other <= step).toList();
    for (long old : steps.subList(Math.min(kept, steps.size()), steps.size())) {
      Path hidden = hidden(old);
      Files.move(folder.step(old), hidden, StandardCopyOption.ATOMIC_MOVE); // never seen in part
      delete(hidden);
    }
  }

  private static void deletePartial(Path folder) throws IOException {
    try (DirectoryStream<Path> all = Files.newDirectoryStream(folder, ".step-*" + PARTIAL + "*")) {
      for (Path partial : all) {
        delete(partial);
      }
    }
  }

  /** Deletes a folder of files. */
  private static void delete(Path folder) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path file : files) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
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
