// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** A stream of random 64-bit words from a 64-bit state. Not thread-safe. */
final class SplitMix64 {
  private long state;

  /** A stream that begins behind a state. */
  SplitMix64(long state) {
    this.state = state;
  }

  long next() {
    state += Mix64.GAMMA;
    return Mix64.mix(state);
  }

  /**
   * A whole number in [0, range), each as likely as the others.
   *
   * @param range at least 1
   */
  int next(int range) {
    while (true) {
      long product = (next() >>> 32) * range;
      long low = product & 0xffffffffL;
      if (low >= range || low >= (1L << 32) % range) {
        return (int) (product >>> 32);
      }
    }
  }

  /** A number in [0, 1). */
  double nextDouble() {
    return (next() >>> 11) * 0x1p-53;
  }
}
