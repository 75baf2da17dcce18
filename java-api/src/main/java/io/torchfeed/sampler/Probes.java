// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;

/**
 * Samples at 64 evenly spread positions of an order: what a digest can see of it at small cost.
 *
 * <p>Whether there are probes depends on the plan alone, never on the machine, so digests of equal
 * plans are equal everywhere.
 */
final class Probes {
  /** Up to this length an order is probed though its list has to be made for it. */
  static final long LONGEST_LIST = 1L << 24;

  private static final int COUNT = 64;
  private static final long[] NONE = {};

  private Probes() {}

  /** The positions floor(j total / 64) for j in [0, 64); none for a total of 0. */
  static long[] positions(long total) {
    if (total == 0) {
      return NONE;
    }
    long[] positions = new long[COUNT];
    for (int j = 0; j < COUNT; j++) {
      positions[j] = j * (total / COUNT) + j * (total % COUNT) / COUNT;
    }
    return positions;
  }

  /**
   * The probes of the order that all ranks share, padding of single ranks left out; or none.
   *
   * @param worldSize number of ranks that begin the epoch; libtorch's order depends on it
   */
  static long[] of(Sampler plan, long epoch, int worldSize) {
    if (plan instanceof InJava same) {
      return of(same.plan(), epoch, worldSize);
    }
    if (plan instanceof StridedSampler strided) {
      return of(strided.dataset(), epoch, 1);
    }
    if (plan instanceof BlockedSampler blocked) {
      return of(blocked.dataset(), epoch, 1);
    }
    if (plan instanceof ShardedSampler sharded) {
      return of(sharded.dataset(), epoch, 1);
    }
    if (plan instanceof ShuffledSampler part) {
      return read(new ShuffledSampler(part.datasetSize(), part.seed()), epoch);
    }
    if (plan instanceof PythonDistributedSampler part) {
      return of(part, epoch);
    }
    if (plan instanceof DistributedSequentialSampler || plan instanceof SequentialSampler) {
      return positions(datasetSize(plan));
    }
    if (plan instanceof DistributedRandomSampler random) {
      return of(random, epoch, worldSize);
    }
    boolean partOnly = plan instanceof DistributedSampler;
    return partOnly || plan.size() > LONGEST_LIST ? NONE : read(plan, epoch);
  }

  /** The probes of the order that the ranks share in batches, or none. */
  static long[] of(BatchSampler plan, long epoch, int worldSize) {
    if (plan instanceof FixedBatches fixed) {
      return of(fixed.sampler(), epoch, worldSize);
    }
    return plan instanceof DistributedBatchSampler dealt ? of(dealt.dataset(), epoch, 1) : NONE;
  }

  private static long datasetSize(Sampler plan) {
    return plan instanceof DistributedSequentialSampler part ? part.datasetSize() : plan.size();
  }

  private static long[] of(PythonDistributedSampler plan, long epoch) {
    Sampler whole =
        new PythonDistributedSampler(
            plan.datasetSize(), 1, 0, plan.shuffle(), plan.seed(), plan.tail());
    return plan.shuffle() && whole.size() > LONGEST_LIST ? NONE : read(whole, epoch);
  }

  private static long[] of(DistributedRandomSampler plan, long epoch, int worldSize) {
    if (plan.datasetSize() + worldSize > LONGEST_LIST) {
      return NONE;
    }
    int[] list = new ShuffledSlices(plan, epoch).list(worldSize);
    return Arrays.stream(positions(list.length)).map(position -> list[(int) position]).toArray();
  }

  private static long[] read(Sampler plan, long epoch) {
    long[] probes = positions(plan.size());
    try (Cursor cursor = plan.epoch(epoch)) {
      for (int j = 0; j < probes.length; j++) {
        cursor.seek(probes[j]);
        cursor.next(probes, j, 1);
      }
    }
    return probes;
  }
}
