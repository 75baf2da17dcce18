// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** The treatment of the last samples when the dataset does not divide evenly among the ranks. */
public enum Tail {
  /**
   * The list of all samples is padded to a multiple of the number of ranks, so that some samples
   * are seen twice. libtorch: {@code allow_duplicates = true}.
   */
  PAD,

  /**
   * The list of all samples is cut to a multiple of the number of ranks, so that some samples are
   * not seen. libtorch: {@code allow_duplicates = false}.
   */
  DROP,

  /**
   * The list of all samples is distributed as it is, so that every sample is seen once and the
   * first ranks see one more than the others. For evaluation; in training, ranks with unequal
   * numbers of steps wait for each other. A state for all ranks is saved by one with the longest
   * part: {@link SamplerState} says why. Not offered by libtorch's samplers.
   */
  UNEVEN
}
