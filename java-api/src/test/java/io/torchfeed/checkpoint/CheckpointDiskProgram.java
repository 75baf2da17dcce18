// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Stream;

/**
 * A program that saves and loads on a small file system, for {@link CheckpointDiskTest}: {@code
 * FOLDER full} or {@code FOLDER read-only}. The folder is where the file system is mounted.
 */
final class CheckpointDiskProgram {
  private static final int PAGE = 4096;

  private final Path mounted;
  private final Path run;

  private CheckpointDiskProgram(Path mounted) {
    this.mounted = mounted;
    this.run = mounted.resolve("run");
  }

  public static void main(String[] arguments) throws Exception {
    CheckpointDiskProgram program = new CheckpointDiskProgram(Path.of(arguments[0]));
    program.save(1);
    if (arguments[1].equals("full")) {
      program.fill();
    } else {
      program.protect();
    }
  }

  /** Saves a step and says how that went; returns whether it is saved. */
  private boolean save(long step) {
    CheckpointProgram state = CheckpointProgram.ofSize(false);
    state.set(step);
    try (Checkpoints checkpoints = Checkpoints.open(run)) {
      checkpoints.save(step, state.state());
      System.out.println("saved " + step);
      return true;
    } catch (CheckpointException e) {
      System.out.println(e.problem() + " " + e.getMessage());
      return false;
    }
  }

  private void load() {
    CheckpointProgram state = CheckpointProgram.ofSize(false);
    try (Checkpoints checkpoints = Checkpoints.open(run)) {
      Checkpoint loaded = checkpoints.load(state.state()).orElseThrow();
      if (!loaded.skipped().isEmpty() || loaded.step() != state.value()) {
        throw new AssertionError(loaded.skipped() + ", " + loaded.step() + ", " + state.value());
      }
      System.out.println("loaded " + state.value());
    }
  }

  /** Saves on a full disk, then on one with a free page more each time, until there is room. */
  private void fill() throws IOException {
    Path filler = mounted.resolve("filler");
    try (FileChannel channel =
        FileChannel.open(filler, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      ByteBuffer page = ByteBuffer.allocateDirect(PAGE);
      while (true) {
        channel.write(page.clear());
      }
    } catch (IOException e) {
      System.out.println("full: " + e.getMessage());
    }
    for (long step = 2; !save(step); step++) {
      load();
      try (FileChannel channel = FileChannel.open(filler, StandardOpenOption.WRITE)) {
        channel.truncate(Files.size(filler) - PAGE);
      }
    }
    load();
    try (Stream<Path> left = Files.list(run)) {
      System.out.println(left.map(file -> String.valueOf(file.getFileName())).sorted().toList());
    }
  }

  private void protect() throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder("mount", "-o", "remount,ro", mounted.toString()).inheritIO().start();
    if (process.waitFor() != 0) {
      throw new AssertionError("cannot be mounted again as read-only");
    }
    save(2);
    load();
  }
}
