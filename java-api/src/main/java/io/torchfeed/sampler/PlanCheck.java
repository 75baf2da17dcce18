// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;

/**
 * Checks that all ranks divide the same order, each of them another part: what nobody notices in
 * training until the result is bad.
 *
 * <p>Ranks exchange a digest of plan, epoch and, as below, 64 samples of the order; only if digests
 * differ they exchange what went into them, and then <em>every</em> rank throws, naming the first
 * difference and the value on each rank. All ranks must make the same calls. Any all-gather does:
 *
 * <pre>{@code
 * PlanCheck.beforeEpoch(sampler, epoch, batchSize, group::allGatherLongs);
 * }</pre>
 *
 * <p>The check costs one exchange of 16 bytes a rank. {@link ShuffledSampler} and sequential orders
 * are probed in constant time; an order that may need a list is made once more for it, up to
 * 2<sup>24</sup> samples, and compared by its parameters only beyond. So are the balanced plans at
 * any size: their order depends on the number of ranks.
 */
public final class PlanCheck {
  /** Collects an array from each rank. */
  @FunctionalInterface
  public interface AllGather {
    /**
     * The arrays of all ranks; returns when all have called it.
     *
     * @param mine the array of this rank; as long as those of the others
     * @return one array a rank, in the same order on all of them
     */
    long[][] gather(long[] mine);
  }

  private PlanCheck() {}

  /**
   * The digest of a plan and epoch that all ranks have in common.
   *
   * @param sampler the plan
   * @param epoch the number of the epoch, at least 0
   * @param batchSize indices in a full batch of one rank, at least 1
   * @return a number that is equal on all ranks of one plan; any value
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static long digest(Sampler sampler, long epoch, int batchSize) {
    return PlanFields.of(sampler, epoch, batchSize).digest();
  }

  /**
   * Checks, before the first batch of an epoch, that all ranks have the same plan, epoch, batch
   * size and number of steps, and that no two processes have the same part.
   *
   * @param sampler the plan of this rank; a plan that is not divided suits one process only
   * @param epoch the number of the epoch, at least 0
   * @param batchSize indices in a full batch of one rank, at least 1
   * @param gather collects from all ranks
   * @throws IllegalStateException on every rank, if the plans differ, if two processes have the
   *     same rank, or if the plan divides over another number of ranks than take part
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static void beforeEpoch(Sampler sampler, long epoch, int batchSize, AllGather gather) {
    PlanFields fields = PlanFields.of(sampler, epoch, batchSize);
    check(fields, SamplerState.rank(sampler), SamplerState.worldSize(sampler), gather);
  }

  /**
   * Checks the same of a plan in batches, before the first batch of an epoch.
   *
   * @param sampler the plan of this rank; a plan that is not divided suits one process only
   * @param epoch the number of the epoch, at least 0
   * @param gather collects from all ranks
   * @throws IllegalStateException on every rank, if the plans differ, if two processes have the
   *     same rank, or if the plan divides over another number of ranks than take part
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  public static void beforeEpoch(BatchSampler sampler, long epoch, AllGather gather) {
    check(PlanFields.of(sampler, epoch), sampler.rank(), sampler.worldSize(), gather);
  }

  private static void check(PlanFields fields, int rank, int worldSize, AllGather gather) {
    long[][] all = gather(gather, fields.digest(), rank);
    requireSame("plans", fields, all, gather);
    requireDisjoint(all, worldSize);
  }

  /**
   * Checks, when a state is saved, that all ranks have delivered equally much of the same epoch of
   * the same plan, so that any of them may save it for all.
   *
   * @param state the state of this rank
   * @param gather collects from all ranks
   * @throws IllegalStateException on every rank, if the states differ
   */
  public static void ofState(SamplerState state, AllGather gather) {
    PlanFields fields = PlanFields.of(state);
    requireSame("states", fields, gather(gather, fields.digest(), 0), gather);
  }

  private static long[][] gather(AllGather gather, long... mine) {
    long[][] all = gather.gather(mine);
    boolean proper = all.length > 0;
    for (long[] each : all) {
      proper &= each.length == mine.length;
    }
    if (!proper) {
      throw new IllegalStateException(
          "the all-gather must return one array of %d numbers a rank, got lengths %s"
              .formatted(
                  mine.length,
                  Arrays.toString(Arrays.stream(all).mapToInt(a -> a.length).toArray())));
    }
    return all;
  }

  private static void requireSame(
      String what, PlanFields fields, long[][] digests, AllGather gather) {
    for (long[] digest : digests) {
      if (digest[0] != digests[0][0]) {
        throw new IllegalStateException(
            "the ranks' "
                + what
                + " differ in "
                + PlanFields.difference(gather(gather, fields.text())));
      }
    }
  }

  private static void requireDisjoint(long[][] all, int worldSize) {
    if (all.length != worldSize) {
      throw new IllegalStateException(
          "the plan divides the order over %d ranks, but %d processes take part"
              .formatted(worldSize, all.length));
    }
    int[] processOf = new int[worldSize];
    Arrays.fill(processOf, -1);
    for (int process = 0; process < worldSize; process++) {
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
