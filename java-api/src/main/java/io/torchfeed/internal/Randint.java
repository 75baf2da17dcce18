// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

/** {@code torch.randint} of torch 2.10.0 on the CPU. */
public final class Randint {
  /**
   * The range from which a draw takes 64 bits instead of 32. Other versions of torch have another
   * threshold, and thus other orders.
   */
  static final long SWITCH = 1L << 28;

  private Randint() {}

  /** Returns the number of outputs of the generator that a draw consumes. */
  public static int outputs(long range) {
    return range != 0 && Long.compareUnsigned(range, SWITCH) < 0 ? 1 : 2;
  }

  /** Draws an unsigned number in [0, range), where a range of 0 means 2^64. */
  public static long next(Mt19937 generator, long range) {
    if (range == 0) {
      return generator.nextLong();
    }
    return outputs(range) == 1
        ? generator.nextUnsigned() % range
        : Long.remainderUnsigned(generator.nextLong(), range);
  }
}
