// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.checkpoint.CheckpointException;
import io.torchfeed.checkpoint.Checkpoints;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Watches a folder of checkpoints for one that is being written, which has a hidden name, and for
 * the change of {@code LATEST} that names it.
 */
final class CheckpointWatch implements AutoCloseable {
  private static final String LATEST = "LATEST";

  private final Job job;
  private final Path folder;
  private final Set<Path> before;
  private final WatchService events;
  private Set<Path> writing = Set.of();

  CheckpointWatch(Job job) throws IOException {
    this.job = job;
    this.folder = Files.createDirectories(job.checkpoints());
    this.before = partial();
    this.events = folder.getFileSystem().newWatchService();
    folder.register(events, StandardWatchEventKinds.ENTRY_CREATE);
  }

  private Set<Path> partial() throws IOException {
    Set<Path> found = new HashSet<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(folder, ".step-*.partial-*")) {
      all.forEach(found::add);
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

  /**
   * Waits until {@code LATEST} names another checkpoint; returns false if a step comes first. It
   * mostly returns while the process that writes still flushes the folder.
   */
  boolean awaitNamed(long beforeStep) throws InterruptedException {
    Patience patience = new Patience(job);
    while (job.step() < beforeStep) {
      patience.require("a checkpoint is named");
      WatchKey changed = events.poll(20, TimeUnit.MILLISECONDS);
      if (changed != null) {
        List<WatchEvent<?>> all = changed.pollEvents();
        changed.reset();
        if (all.stream().anyMatch(each -> LATEST.equals(String.valueOf(each.context())))) {
          return true;
        }
      }
    }
    return false;
  }

  /** Waits until there is a checkpoint. */
  static void awaitFirst(Job job) throws InterruptedException {
    Patience patience = new Patience(job);
    while (!Files.exists(job.checkpoints().resolve(LATEST))) {
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

  @Override
  public void close() throws IOException {
    events.close();
  }
}
