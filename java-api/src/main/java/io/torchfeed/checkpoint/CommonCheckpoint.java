// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.RankConsistency.AllGather;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The newest checkpoint that all ranks can read. Each looks for its own, all return to the oldest
 * of these, and look again until they have the same one.
 */
final class CommonCheckpoint {
  private static final long NONE = -1;

  private final CheckpointFolder folder;
  private final Part rank;
  private final List<CheckpointException> skipped = new ArrayList<>();
  private long step = NONE;
  private @Nullable Manifest manifest;
  private @Nullable CheckpointException refusal;

  CommonCheckpoint(CheckpointFolder folder, Part rank) {
    this.folder = folder;
    this.rank = rank;
  }

  long step() {
    return step;
  }

  StepFolder files() {
    return new StepFolder(folder.step(step));
  }

  Manifest manifest() {
    return requireNonNull(manifest, "the manifest of a checkpoint");
  }

  List<CheckpointException> skipped() {
    return skipped;
  }

  /** Returns whether there is one; all ranks call it, with equal results, or all throw. */
  boolean isFound(AllGather gather) {
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
    step = NONE;
    for (long each : steps) {
      if (each <= limit && refusal == null) {
        try {
          manifest = new StepFolder(folder.step(each)).verify(rank);
          step = each;
          return;
        } catch (CheckpointException e) {
          if (e.problem() == Problem.MISMATCH) {
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
}
