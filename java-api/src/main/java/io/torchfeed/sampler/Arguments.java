// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

/** The checks that stand before the C++ classes, which make none. */
final class Arguments {
  /** The longest {@code std::vector<size_t>}, and the longest int64 tensor. */
  static final long MOST_INDICES = (1L << 60) - 1;

  private Arguments() {}

  static void requireDatasetSize(long datasetSize) {
    if (datasetSize < 0) {
      throw new IllegalArgumentException("datasetSize must be at least 0, got " + datasetSize);
    }
  }

  static void requireRank(long datasetSize, int worldSize, int rank) {
    requireDatasetSize(datasetSize);
    if (worldSize < 1) {
      throw new IllegalArgumentException("worldSize must be at least 1, got " + worldSize);
    }
    if (rank < 0 || rank >= worldSize) {
      throw new IllegalArgumentException(
          "Invalid rank %d, rank should be in the interval [0, %d]".formatted(rank, worldSize - 1));
    }
  }

  /** Requires that libtorch can hold the list of all ranks' indices. */
  static void requireListable(long datasetSize, int worldSize, Tail tail) {
    long most = worldSize == 1 ? MOST_INDICES : MOST_INDICES - MOST_INDICES % worldSize;
    if (datasetSize > most || samplesOfARank(datasetSize, worldSize, tail) > most / worldSize) {
      throw new IllegalArgumentException(
          "datasetSize must be in [0, %d] for %d ranks, the longest list that libtorch can hold, got %d"
              .formatted(most, worldSize, datasetSize));
    }
  }

  /** Requires a tail that libtorch's samplers have. */
  static void requireEvenTail(Tail tail) {
    if (requireNonNull(tail, "tail") == Tail.UNEVEN) {
      throw new IllegalArgumentException(
          "tail must be PAD or DROP, since libtorch's ranks are of equal size, got UNEVEN");
    }
  }

  static void requireEpoch(long epoch) {
    if (epoch < 0) {
      throw new IllegalArgumentException("epoch must be at least 0, got " + epoch);
    }
  }

  static long samplesOfARank(long datasetSize, int worldSize, Tail tail) {
    long whole = datasetSize / worldSize;
    return tail == Tail.PAD && datasetSize % worldSize != 0 ? whole + 1 : whole;
  }
}
