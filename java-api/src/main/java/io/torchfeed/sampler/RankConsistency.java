// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A check that all ranks divide the same order and that each delivers a different part of it.
 * Training does not reveal a mismatch until the result is bad.
 *
 * <p>The ranks exchange a digest of the plan, the epoch and, as described below, 64 samples of the
 * order. Only if the digests differ do they exchange the values that went into them; then
 * <em>every</em> rank throws, naming the first difference and the value on each rank. All ranks
 * must make the same calls. Any all-gather will do:
 *
 * <pre>{@code
 * RankConsistency.beforeEpoch(sampler, epoch, batchSize, group::allGatherLongs);
 * }</pre>
 *
 * <p>The check costs one exchange of 16 bytes per rank. The samples come from {@link Plan#probe}:
 * orders whose positions can be computed are probed in constant time, and an order that may need a
 * list is computed once more for the check if it has at most 2<sup>24</sup> samples. Compared by
 * their parameters only are longer lists; balanced plans of any size, since their order depends on
 * the number of ranks; and divided plans without a {@code probe} of their own.
 */
public final class RankConsistency {
  /** A function that collects an array from each rank. */
  @FunctionalInterface
  public interface AllGather {
    /**
     * Returns the arrays of all ranks, once all of them have called it.
     *
     * @param mine the array of this rank, of the same length on all ranks
     * @return one array per rank, in the same order on all ranks
     */
    long[][] gather(long[] mine);
  }

  private RankConsistency() {}

  /**
   * Returns the digest of the part of a plan and epoch that all ranks have in common.
   *
   * @param sampler the plan
   * @param epoch the number of the epoch, at least 0
   * @param batchSize indices in a full batch of one rank, at least 1
   * @return a number that is equal on all ranks of one plan; any value
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static long digest(Sampler sampler, long epoch, int batchSize) {
    requireNonNull(sampler, "sampler");
    return PlanDigest.of(sampler, epoch, batchSize).digest();
  }

  /**
   * Checks, before the first batch of an epoch, that all ranks have the same plan, epoch, batch
   * size and number of steps, and that no two processes have the same part.
   *
   * @param sampler the plan of this rank; an undivided plan is valid for a single process only
   * @param epoch the number of the epoch, at least 0
   * @param batchSize indices in a full batch of one rank, at least 1
   * @param gather the all-gather over all ranks
   * @throws IllegalStateException on every rank, if the plans differ, if two processes have the
   *     same rank, or if the plan's number of ranks is not the number of processes
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static void beforeEpoch(Sampler sampler, long epoch, int batchSize, AllGather gather) {
    requireNonNull(gather, "gather");
    requireNonNull(sampler, "sampler");
    PlanDigest fields = PlanDigest.of(sampler, epoch, batchSize);
    check(fields, sampler.part(), gather);
  }

  /**
   * Performs the same check on a plan in batches, before the first batch of an epoch.
   *
   * @param sampler the plan of this rank; an undivided plan is valid for a single process only
   * @param epoch the number of the epoch, at least 0
   * @param gather the all-gather over all ranks
   * @throws IllegalStateException on every rank, if the plans differ, if two processes have the
   *     same rank, or if the plan's number of ranks is not the number of processes
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  public static void beforeEpoch(BatchSampler sampler, long epoch, AllGather gather) {
    requireNonNull(gather, "gather");
    requireNonNull(sampler, "sampler");
    check(PlanDigest.of(sampler, epoch), sampler.part(), gather);
  }

  private static void check(PlanDigest fields, Part part, AllGather gather) {
    long[][] all = gather(gather, fields.digest(), part.rank());
    requireSame("plans", fields, all, gather);
    requireDisjoint(all, part.worldSize());
  }

  /**
   * Checks, when a state is saved, that all ranks have delivered the same amount of the same epoch
   * of the same plan, so that any of them may save the state for all; with {@link Tail#UNEVEN}, one
   * with the longest part.
   *
   * @param state the state of this rank
   * @param gather the all-gather over all ranks
   * @throws IllegalStateException on every rank, if the states differ
   */
  public static void ofState(SamplerState state, AllGather gather) {
    requireNonNull(gather, "gather");
    requireNonNull(state, "state");
    PlanDigest fields = PlanDigest.of(state);
    requireSame("states", fields, gather(gather, fields.digest(), 0), gather);
  }

  private static long[][] gather(AllGather gather, long... mine) {
    long[][] all = gather.gather(mine);
    int[] lengths =
        all == null ? new int[0] : Arrays.stream(all).mapToInt(RankConsistency::length).toArray();
    if (lengths.length == 0 || Arrays.stream(lengths).anyMatch(length -> length != mine.length)) {
      throw new IllegalStateException(
          "the all-gather must return one array of %d numbers per rank, got lengths %s"
              .formatted(mine.length, Arrays.toString(lengths)));
    }
    return all;
  }

  /**
   * Returns the length of the array that the caller's all-gather returned for a rank; -1 for null.
   */
  private static int length(long @Nullable [] gathered) {
    return gathered == null ? -1 : gathered.length;
  }

  private static void requireSame(
      String what, PlanDigest fields, long[][] digests, AllGather gather) {
    for (long[] digest : digests) {
      if (digest[0] != digests[0][0]) {
        long[][] lengths = gather(gather, fields.textLength());
        long longest = Arrays.stream(lengths).mapToLong(length -> length[0]).max().orElse(0);
        long[][] texts = gather(gather, fields.text(longest));
        throw new IllegalStateException(
            "the ranks' %s differ in %s".formatted(what, PlanDigest.difference(texts)));
      }
    }
  }

  private static void requireDisjoint(long[][] all, int worldSize) {
    if (all.length != worldSize) {
      throw new IllegalStateException(
          "the sampler divides the order over %d, but the ranks are %d; pass group.part() to it"
              .formatted(worldSize, all.length));
    }
    int[] processOf = new int[worldSize];
    Arrays.fill(processOf, -1);
    for (int process = 0; process < worldSize; process++) {
      if (all[process][1] < 0 || all[process][1] >= worldSize) {
        throw new IllegalStateException(
            "the rank of process %d must be in [0, %d], got %d"
                .formatted(process, worldSize - 1, all[process][1]));
      }
      int rank = (int) all[process][1];
      if (processOf[rank] >= 0) {
        throw new IllegalStateException(
            "processes %d and %d deliver the same samples: both have the plan of rank %d"
                .formatted(processOf[rank], process, rank));
      }
      processOf[rank] = process;
    }
  }
}
