// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * A part of an epoch that one number of ranks delivered, each rank the same number of indices.
 *
 * @param worldSize number of ranks, at least 1
 * @param deliveredByEachRank number of indices that each of them delivered, at least 0
 */
public record Segment(int worldSize, long deliveredByEachRank) {
  /**
   * A part of an epoch.
   *
   * @param worldSize number of ranks, at least 1
   * @param deliveredByEachRank number of indices that each of them delivered, at least 0
   * @throws IllegalArgumentException if an argument is too small
   */
  public Segment {
    if (worldSize < 1) {
      throw new IllegalArgumentException("worldSize must be at least 1, got " + worldSize);
    }
    if (deliveredByEachRank < 0) {
      throw new IllegalArgumentException(
          "deliveredByEachRank must be at least 0, got " + deliveredByEachRank);
    }
  }
}
