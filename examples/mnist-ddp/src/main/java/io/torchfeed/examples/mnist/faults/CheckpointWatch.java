// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Watches a folder of checkpoints for one that is being written, which has a hidden name. */
final class CheckpointWatch {
  private final Path folder;
  private final Set<Path> before;
  private Set<Path> writing = Set.of();

  CheckpointWatch(Path folder) throws IOException {
    this.folder = folder;
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

  /** Waits until another checkpoint is being written. */
  void awaitWriting() throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Job.LIMIT_SECONDS);
    do {
      if (System.nanoTime() > end) {
        throw new Job.HungException("a checkpoint is written");
      }
      TimeUnit.MILLISECONDS.sleep(1);
      writing = new HashSet<>(partial());
      writing.removeAll(before);
    } while (writing.isEmpty());
  }

  /** Returns whether that checkpoint was not completed. */
  boolean isUnfinished() {
    return writing.stream().anyMatch(Files::exists);
  }

  /** Waits until there is a checkpoint. */
  void awaitFirst() throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Job.LIMIT_SECONDS);
    while (!Files.exists(folder.resolve("LATEST"))) {
      if (System.nanoTime() > end) {
        throw new Job.HungException("the first checkpoint");
      }
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }
}
