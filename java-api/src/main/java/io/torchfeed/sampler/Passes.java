// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.math.BigInteger;

/** The passes over a sampler of Python's that has a generator of its own, seeded once. */
final class Passes {
  private Passes() {}

  /** The generator at the start of a pass, when all passes before it ran to their end. */
  static Mt19937 generator(long seed, long epoch, long outputsOfAPass) {
    Arguments.requireEpoch(epoch);
    Mt19937 generator = new Mt19937(seed);
    generator.skip(BigInteger.valueOf(epoch).multiply(BigInteger.valueOf(outputsOfAPass)));
    return generator;
  }

  /** Requires a number of draws that a list can hold. */
  static void requireSamples(long numSamples) {
    if (numSamples < 1 || numSamples > IndexList.LONGEST) {
      throw new IllegalArgumentException(
          "numSamples must be in [1, %d], since an epoch is held as a list, got %d"
              .formatted(IndexList.LONGEST, numSamples));
    }
  }
}
