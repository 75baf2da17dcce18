// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The checkpoints of one run: {@code epoch-0001.ckpt}, …, and {@code latest}, which names the
 * newest.
 *
 * <p>{@code latest} is written after its checkpoint, so the checkpoint it names is always complete.
 *
 * @param folder the folder that contains them
 */
record CheckpointFolder(Path folder) {
  private static final String LATEST = "latest";

  /** A checkpoint and the file it was read from. */
  record Found(Path file, Checkpoint checkpoint) {}

  static CheckpointFolder ofRun(Path run) {
    return new CheckpointFolder(run.resolve("checkpoints"));
  }

  /** Returns the run folder of {@code path}, which is a run folder or one of its checkpoints. */
  static Path runOf(Path path) {
    if (Files.isDirectory(path)) {
      return path;
    }
    Path folder = path.toAbsolutePath().getParent();
    Path run = folder == null ? null : folder.getParent();
    return run == null ? path : run;
  }

  /**
   * Reads the newest good checkpoint of a run folder, or the checkpoint file that {@code path}
   * names.
   *
   * @throws CommandException if there is none, or if that file is damaged
   */
  static Found resolve(Path path, Consumer<String> warnings) {
    return Files.isRegularFile(path)
        ? new Found(path, Checkpoint.read(path))
        : ofRun(path).newest(warnings);
  }

  void save(Checkpoint checkpoint) {
    String name = String.format(Locale.ROOT, "epoch-%04d.ckpt", checkpoint.epoch());
    try {
      Files.createDirectories(folder);
      OutputFile.write(folder.resolve(name), checkpoint::write);
      OutputFile.write(folder.resolve(LATEST), (name + "\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new CommandException(
          "Cannot write the checkpoint " + folder.resolve(name) + ": " + MnistFolder.describe(e),
          e);
    }
  }

  /**
   * Reads the newest good checkpoint.
   *
   * @param warnings receives a message for each damaged checkpoint that is skipped
   * @throws CommandException if there is none
   */
  Found newest(Consumer<String> warnings) {
    for (Path file : newestFirst()) {
      try {
        return new Found(file, Checkpoint.read(file));
      } catch (CommandException e) {
        warnings.accept(e.getMessage() + "; using the one before it");
      }
    }
    throw CommandException.wrongUse("There is no good checkpoint in " + folder);
  }

  private List<Path> newestFirst() {
    List<Path> files = new ArrayList<>();
    try (Stream<Path> all = Files.list(folder)) {
      all.filter(file -> file.getFileName().toString().matches("epoch-\\d+\\.ckpt"))
          .sorted(Comparator.comparing(CheckpointFolder::epochOf).reversed())
          .forEach(files::add);
    } catch (NoSuchFileException e) {
      throw CommandException.wrongUse(
          "There is no checkpoint to resume from: " + folder + " is missing", e);
    } catch (IOException e) {
      throw CommandException.wrongUse("Cannot read " + folder + ": " + MnistFolder.describe(e), e);
    }
    moveLatestToFront(files);
    return files;
  }

  /**
   * Moves {@code latest} to the front and drops newer files, left by a kill between the two writes.
   */
  private void moveLatestToFront(List<Path> files) {
    try {
      Path latest =
          folder.resolve(Files.readString(folder.resolve(LATEST), StandardCharsets.UTF_8).trim());
      if (files.remove(latest)) {
        files.removeIf(file -> epochOf(file) > epochOf(latest));
        files.add(0, latest);
      }
    } catch (IOException e) {
      // Without the pointer the files stay ordered by epoch.
    }
  }

  private static long epochOf(Path file) {
    return Long.parseLong(file.getFileName().toString().replaceAll("\\D", ""));
  }
}
