// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.checkpoint.CheckpointException;
import io.torchfeed.checkpoint.Checkpoints;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Watches a folder of checkpoints for one that is being written, which has a hidden name. */
final class CheckpointWatch {
  private final Job job;
  private final Path folder;
  private final Set<Path> before;
  private Set<Path> writing = Set.of();

  CheckpointWatch(Job job) throws IOException {
    this.job = job;
    this.folder = job.checkpoints();
    this.before = partial();
  }

  private Set<Path> partial() throws IOException {
    Set<Path> found = new HashSet<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(folder, ".step-*.partial-*")) {
      all.forEach(found::add);
    } catch (NoSuchFileException e) {
      return Set.of();
    }
    return found;
  }

  /** Waits until another checkpoint is being written; returns false if a step comes first. */
  boolean awaitWriting(long beforeStep) throws IOException, InterruptedException {
    Patience patience = new Patience(job);
    do {
      if (job.step() >= beforeStep) {
        return false;
      }
      patience.require("a checkpoint is written");
      TimeUnit.MILLISECONDS.sleep(1);
      writing = new HashSet<>(partial());
      writing.removeAll(before);
    } while (writing.isEmpty());
    return true;
  }

  /** Returns whether that checkpoint was not completed. */
  boolean isUnfinished() {
    return writing.stream().anyMatch(Files::exists);
  }

  /** Waits until there is a checkpoint. */
  void awaitFirst() throws InterruptedException {
    Patience patience = new Patience(job);
    while (!Files.exists(folder.resolve("LATEST"))) {
      patience.require("the first checkpoint");
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  /**
   * Returns the step of the last checkpoint, which is read and compared with its checksums.
   *
   * @throws IllegalStateException if it is damaged or incomplete
   */
  static long lastWhole(Job job) {
    try (Checkpoints checkpoints = Checkpoints.open(job.checkpoints())) {
      List<Long> steps = checkpoints.steps();
      if (steps.isEmpty()) {
        return 0;
      }
      checkpoints.verify(steps.get(0));
      return steps.get(0);
    } catch (CheckpointException e) {
      throw new IllegalStateException("the last checkpoint is not whole: " + e.getMessage(), e);
    }
  }
}
