// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import static java.util.Objects.requireNonNull;

import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.Stride;

/** Argument checks of libtorch's samplers; the C++ classes perform none. */
final class LibtorchChecks {
  /** The maximum length of a {@code std::vector<size_t>}, and of an int64 tensor. */
  static final long MAX_INDICES = (1L << 60) - 1;

  private LibtorchChecks() {}

  /** Requires that libtorch can hold the list of all ranks' indices. */
  static void requireListable(long datasetSize, int worldSize, Tail tail) {
    long most = worldSize == 1 ? MAX_INDICES : MAX_INDICES - MAX_INDICES % worldSize;
    if (datasetSize > most
        || Stride.sizeOfLongestRank(datasetSize, worldSize, tail) > most / worldSize) {
      throw new IllegalArgumentException(
          "datasetSize must be in [0, %d] for %d ranks, the longest list that libtorch can hold, got %d"
              .formatted(most, worldSize, datasetSize));
    }
  }

  /** Requires a tail that libtorch's samplers support. */
  static void requireEvenTail(Tail tail) {
    if (requireNonNull(tail, "tail") == Tail.UNEVEN) {
      throw new IllegalArgumentException(
          "tail must be PAD or DROP, since all of libtorch's ranks have the same size, got UNEVEN");
    }
  }
}
