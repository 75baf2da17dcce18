// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import io.torchfeed.internal.Checks;

/**
 * A part of an epoch delivered by a fixed number of ranks, the same amount by each: indices, or
 * batches if a plan is divided into whole batches ({@link Seekable#delivered}).
 *
 * @param worldSize number of ranks, at least 1
 * @param deliveredByEachRank the amount that each of them delivered, at least 0
 */
public record EpochSegment(int worldSize, long deliveredByEachRank) {
  /**
   * Creates a segment.
   *
   * @param worldSize number of ranks, at least 1
   * @param deliveredByEachRank the amount that each of them delivered, at least 0
   * @throws IllegalArgumentException if an argument is too small
   */
  public EpochSegment {
    Checks.requireWorldSize(worldSize);
    if (deliveredByEachRank < 0) {
      throw new IllegalArgumentException(
          "deliveredByEachRank must be at least 0, got " + deliveredByEachRank);
    }
  }
}
