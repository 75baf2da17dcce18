// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** {@code torch.randint} of torch 2.10.0 on the CPU. */
final class Randint {
  /**
   * From this range on a draw takes 64 bits instead of 32. Other versions of torch have another
   * threshold, and with it other orders.
   */
  static final long SWITCH = 1L << 28;

  private Randint() {}

  /** How many outputs of the generator a draw takes. */
  static int outputs(long high) {
    return high < SWITCH ? 1 : 2;
  }

  /** A number in [0, high), high at least 1. */
  static long next(Mt19937 generator, long high) {
    return high < SWITCH
        ? generator.nextUnsigned() % high
        : Long.remainderUnsigned(generator.nextLong(), high);
  }
}
