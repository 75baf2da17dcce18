// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;

/**
 * The plan of one rank in batches, which may differ in size. Immutable; any number of threads may
 * open cursors.
 */
public interface BatchSampler {
  /**
   * The number of batches of an epoch: the same on every rank.
   *
   * @param epoch the number of the epoch, at least 0
   * @return the number of batches
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  long batches(long epoch);

  /**
   * The size of the largest batch that may come, in any epoch.
   *
   * @return number of indices, at least 1
   */
  int largestBatch();

  /**
   * Opens a cursor at the first batch of an epoch. The caller owns the cursor and closes it.
   *
   * @param epoch the number of the epoch, at least 0
   * @return a new cursor, independent of all others
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  BatchCursor epoch(long epoch);

  /**
   * What order and batches depend on.
   *
   * @return the parameters; equal ones mean equal batches
   */
  PlanParameters parameters();

  /**
   * The number of ranks that share the epoch.
   *
   * @return the world size, at least 1; 1 unless the plan says otherwise
   */
  default int worldSize() {
    return 1;
  }

  /**
   * The rank whose batches these are.
   *
   * @return the rank, in [0, worldSize() - 1]
   */
  default int rank() {
    return 0;
  }

  /**
   * The parameters that are equal on all ranks, and for every number of ranks over which what is
   * left of an epoch can be divided.
   *
   * @return {@link #parameters}, unless the plan says otherwise
   */
  default PlanParameters order() {
    return parameters();
  }

  /**
   * Opens a cursor that goes on where ranks stopped. If the last of them were as many as this plan
   * has, it goes on in their batches, at their position; else what is left is divided anew, and
   * positions count from the start of that part. The caller owns the cursor and closes it.
   *
   * @param epoch the number of the epoch, at least 0
   * @param delivered what was delivered, the oldest part first, in the unit of {@link
   *     BatchCursor#delivered}; empty for a whole epoch
   * @return a new cursor
   * @throws IllegalArgumentException if {@code epoch} is negative, a segment is longer than what
   *     the ones before it left, or the number of ranks has changed and this plan cannot divide the
   *     rest
   */
  default BatchCursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    long position = 0;
    for (Segment segment : delivered) {
      if (segment.worldSize() != worldSize()) {
        throw new IllegalArgumentException(
            "this plan cannot be divided anew: segments must have worldSize %d, got %s"
                .formatted(worldSize(), delivered));
      }
      segment.requireAtMost(batches(epoch) - position);
      position += segment.deliveredByEachRank();
    }
    BatchCursor cursor = epoch(epoch);
    cursor.seek(position);
    return cursor;
  }

  /**
   * The digest of {@link #parameters}.
   *
   * @return 64 hexadecimal digits
   */
  default String digest() {
    return parameters().digest();
  }
}
