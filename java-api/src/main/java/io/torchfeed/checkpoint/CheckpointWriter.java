// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.checkpoint.Manifest.SavedPart;
import io.torchfeed.checkpoint.StateCopy.Copy;
import io.torchfeed.checkpoint.StateCopy.Share;
import io.torchfeed.internal.FileReplacement;
import io.torchfeed.internal.Folders;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/** Writes checkpoints into a folder, each under a hidden name until it is complete. */
final class CheckpointWriter {
  private static final Logger LOGGER = System.getLogger("io.torchfeed.checkpoint");

  private final CheckpointFolder folder;
  private final CheckpointOptions options;
  private boolean isClean;

  CheckpointWriter(CheckpointFolder folder, CheckpointOptions options) {
    this.folder = folder;
    this.options = options;
  }

  /**
   * Writes a checkpoint, names it as the latest and deletes those that are too old.
   *
   * @param check throws if the state changed while it was copied; run once all of it is written
   * @throws CheckpointException if it cannot be written
   */
  void write(long step, Copy copy, Set<String> own, Runnable check) {
    try {
      prepare(each -> true);
      Path partial = Files.createDirectory(folder.newHidden(step, CheckpointFolder.PARTIAL));
      try {
        StepFolder files = new StepFolder(partial);
        files.writeManifest(
            ShardedManifest.ofOne(step, files.writeTensors(copy, Map.of()), own, copy.metric()));
        check.run();
        publish(partial, step);
      } catch (Throwable e) {
        deleteQuietly(partial, e);
        throw e;
      }
    } catch (IOException e) {
      throw CheckpointException.unwritable(folder.step(step), e);
    }
  }

  /**
   * Compares the state with the other ranks, writes a rank's share of it and waits for theirs; rank
   * 0 names the checkpoint as the latest.
   *
   * @param check throws if the share changed while it was copied; run once all of it is written
   * @throws CheckpointException if it cannot be written, or another rank has given up, is late or
   *     has another state
   */
  void write(long step, Share share, Set<String> own, Shards shards, Runnable check) {
    Path partial = folder.partial(step, shards.run());
    boolean isFirst = shards.part().rank() == 0;
    try {
      if (isFirst) {
        prepare(each -> !each.equals(partial));
        deleteHidden(CheckpointFolder.PARTIAL, each -> !each.equals(partial)); // given up
      }
      Files.createDirectories(partial);
      ShardMeeting meeting = new ShardMeeting(folder, step, shards);
      try {
        StepFolder files = new StepFolder(partial);
        meeting.agree(share.layout());
        Map<String, SavedPart> written = files.writeTensors(share.copy(), share.fileNames());
        check.run();
        meeting.put(new Manifest(step, 1, written, Map.of(), null));
        if (isFirst) {
          List<Manifest> all = meeting.all();
          Metric metric = share.copy().metric();
          files.writeManifest(ShardedManifest.of(step, all, own, share.layout(), metric, files));
          meeting.clear();
          publish(partial, step);
        } else {
          meeting.awaitPublished();
        }
      } catch (Throwable e) {
        meeting.giveUp(e);
        throw e;
      }
    } catch (IOException e) {
      throw CheckpointException.unwritable(folder.step(step), e);
    }
  }

  /** Makes the folder, and once deletes the remains of processes that were killed. */
  private void prepare(Predicate<Path> isOld) throws IOException {
    folder.requireFolder();
    Files.createDirectories(folder.path());
    folder.requireLatest();
    if (!isClean) {
      folder.restoreReplaced();
      deleteHidden(CheckpointFolder.PARTIAL, isOld);
      deleteHidden(CheckpointFolder.REPLACED, each -> true);
      isClean = true;
    }
  }

  private void publish(Path partial, long step) throws IOException {
    boolean isNew = !Files.exists(folder.step(step));
    replace(partial, step);
    try {
      ByteBuffer name = StandardCharsets.UTF_8.encode(CheckpointFolder.nameOf(step) + "\n");
      FileReplacement.write(folder.path().resolve(CheckpointFolder.LATEST), name);
    } catch (Throwable e) {
      if (isNew && !folder.isLatest(step)) {
        deleteQuietly(folder.step(step), e); // else each try on a full disk would leave one
      }
      throw e;
    }
    prune(step);
  }

  private void replace(Path partial, long step) throws IOException {
    Path target = folder.step(step);
    Path replaced = folder.newHidden(step, CheckpointFolder.REPLACED);
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

  /**
   * Deletes the oldest, except the best; later steps belong to a run that this one does not
   * continue.
   */
  private void prune(long step) throws IOException {
    List<Long> steps = folder.steps().stream().filter(other -> other <= step).toList();
    if (steps.size() <= options.kept()) {
      return;
    }
    Set<Long> old = new LinkedHashSet<>(steps.subList(options.kept(), steps.size()));
    folder.bestOf(steps).stream().limit(options.keptBest()).forEach(old::remove);
    for (long each : old) {
      delete(each);
    }
  }

  private void delete(long old) throws IOException {
    Path hidden = folder.newHidden(old, CheckpointFolder.PARTIAL);
    Files.move(folder.step(old), hidden, StandardCopyOption.ATOMIC_MOVE); // never seen in part
    deleteIfPossible(hidden);
  }

  private void deleteHidden(String kind, Predicate<Path> isOld) throws IOException {
    for (Path each : folder.hiddenOf(kind)) {
      if (isOld.test(each)) {
        deleteIfPossible(each);
      }
    }
  }

  /**
   * Deletes a hidden folder. The checkpoints are complete without that: if a file of it is in use
   * or protected, the next process tries again.
   */
  private static void deleteIfPossible(Path folder) {
    try {
      Folders.delete(folder);
    } catch (IOException e) {
      LOGGER.log(Level.WARNING, "{0} cannot be deleted: {1}", folder, e.toString());
    }
  }

  private static void deleteQuietly(Path folder, Throwable cause) {
    try {
      if (Files.exists(folder)) {
        Folders.delete(folder);
      }
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }
}
