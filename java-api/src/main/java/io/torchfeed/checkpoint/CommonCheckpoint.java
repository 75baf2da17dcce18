// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.StepFolder.SavedParts;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.RankConsistency.AllGather;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The newest checkpoint that all ranks can read. Each looks for its own, all return to the oldest
 * of these, and look again until they have the same one.
 */
final class CommonCheckpoint implements AutoCloseable {
  private static final long NONE = -1;
  private static final long SEEN_NANOS = TimeUnit.SECONDS.toNanos(3);
  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private final CheckpointFolder folder;
  private final Part rank;
  private final List<CheckpointException> skipped = new ArrayList<>();
  private long step = NONE;
  private @Nullable SavedParts parts;
  private @Nullable CheckpointException refusal;

  CommonCheckpoint(CheckpointFolder folder, Part rank) {
    this.folder = folder;
    this.rank = rank;
  }

  long step() {
    return step;
  }

  /** Returns its parts for this rank; {@link #close} closes them. */
  SavedParts parts() {
    return requireNonNull(parts, "the parts of a checkpoint");
  }

  List<CheckpointException> skipped() {
    return skipped;
  }

  /** Returns whether there is one; all ranks call it, with equal results, or all throw. */
  boolean isFound(AllGather gather) {
    if (rank.worldSize() > 1) {
      requireSameFolder(gather);
    }
    List<Long> steps = candidates();
    long limit = Long.MAX_VALUE;
    while (true) {
      find(steps, limit);
      long[][] all = gather.gather(new long[] {step, skipped.size() + (refusal == null ? 0 : 1)});
      long[] found = Arrays.stream(all).mapToLong(each -> each[0]).sorted().toArray();
      limit = found[0];
      if (limit == NONE) {
        requireNothing(all);
        return false;
      }
      if (found[found.length - 1] == limit) {
        return true;
      }
    }
  }

  /**
   * Throws on all ranks unless each finds a file that rank 0 writes: the same path is another
   * folder on another machine, and other paths may be the same folder. A folder in which rank 0
   * cannot write is not compared.
   */
  private void requireSameFolder(AllGather gather) {
    long name = rank.rank() == 0 ? writeMark() : 0;
    boolean[] isSeen;
    try {
      name = gather.gather(new long[] {name})[0][0];
      if (name == 0) {
        return;
      }
      long[][] all = gather.gather(new long[] {isSeen(mark(name)) ? 1 : 0});
      isSeen = new boolean[all.length];
      for (int other = 0; other < all.length; other++) {
        isSeen[other] = all[other][0] == 1;
      }
    } finally {
      if (rank.rank() == 0 && name != 0) {
        deleteMark(mark(name));
      }
    }
    for (int other = 0; other < isSeen.length; other++) {
      if (!isSeen[other]) {
        String[] paths = paths(gather);
        throw new IllegalStateException(
            "the ranks have different folders of checkpoints: rank 0 has %s, rank %d has %s and"
                    .formatted(paths[0], other, paths[other])
                + " finds nothing there that rank 0 writes; all ranks must reach the same folder");
      }
    }
  }

  private Path mark(long name) {
    return folder.path().resolve(".ranks-" + Long.toHexString(name));
  }

  /** Returns the name of a new file; 0 if the folder does not take one. */
  private long writeMark() {
    long name = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
    try {
      Files.createDirectories(folder.path());
      Files.createFile(mark(name));
      return name;
    } catch (IOException e) {
      return 0; // the first save reports it, if there is one
    }
  }

  private static void deleteMark(Path mark) {
    try {
      Files.deleteIfExists(mark);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot delete " + mark, e);
    }
  }

  /** Returns whether a file exists; waits a little, as file systems of networks may be late. */
  private static boolean isSeen(Path mark) {
    long end = System.nanoTime() + SEEN_NANOS;
    while (!Files.exists(mark)) {
      if (System.nanoTime() - end > 0 || Thread.currentThread().isInterrupted()) {
        return false;
      }
      LockSupport.parkNanos(POLL_NANOS);
    }
    return true;
  }

  /** Returns the path of each rank's folder. */
  private String[] paths(AllGather gather) {
    byte[] mine = folder.path().toAbsolutePath().toString().getBytes(StandardCharsets.UTF_8);
    long most =
        Arrays.stream(gather.gather(new long[] {mine.length}))
            .mapToLong(each -> each[0])
            .max()
            .orElseThrow();
    long[] padded = new long[Math.toIntExact(most)];
    for (int i = 0; i < mine.length; i++) {
      padded[i] = mine[i];
    }
    return Arrays.stream(gather.gather(padded)).map(CommonCheckpoint::text).toArray(String[]::new);
  }

  private static String text(long[] padded) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (long each : padded) {
      if (each != 0) { // no path has the character 0
        bytes.write((int) each);
      }
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private List<Long> candidates() {
    try {
      return folder.candidates(skipped);
    } catch (CheckpointException e) {
      skipped.add(e);
      return List.of();
    }
  }

  /** Finds the newest one that this rank can read, up to a limit. */
  private void find(List<Long> steps, long limit) {
    if (step != NONE && step <= limit) {
      return;
    }
    close(); // so that one state at a time is in memory
    step = NONE;
    for (long each : steps) {
      if (each <= limit && refusal == null) {
        try {
          parts = new StepFolder(folder.step(each)).read(rank);
          step = each;
          return;
        } catch (CheckpointException e) {
          if (e.isOfEveryFile()) {
            refusal = e;
          } else {
            skipped.add(e);
          }
        }
      }
    }
  }

  /**
   * Throws unless no rank has found anything.
   *
   * @param all the step that each rank has found, and how many it could not read
   */
  private void requireNothing(long[][] all) {
    if (refusal != null) {
      throw refusal;
    }
    if (step == NONE && !skipped.isEmpty()) {
      throw folder.noneOf(skipped);
    }
    for (int other = 0; other < all.length; other++) {
      if (all[other][0] == NONE && all[other][1] > 0) {
        throw new CheckpointException(
            folder.path(), Problem.DAMAGED, "rank %d can read none of them".formatted(other));
      }
      if (all[other][0] != all[0][0]) {
        throw new IllegalStateException(
            "the ranks find different checkpoints: rank 0 %s, rank %d %s; all ranks must reach the same folder"
                .formatted(text(all[0][0]), other, text(all[other][0])));
      }
    }
  }

  private static String text(long step) {
    return step == NONE ? "none" : "one after %d steps".formatted(step);
  }

  /** Frees the parts. */
  @Override
  public void close() {
    if (parts != null) {
      parts.close();
      parts = null;
    }
  }
}
