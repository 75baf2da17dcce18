// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.internal.Hash64;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The random numbers of one sample in one epoch: SplitMix64 (Steele, Lea and Flood 2014) keyed by
 * seed, epoch and index.
 */
public final class SampleRandom implements RandomGenerator {
  private long state;
  private @Nullable Thread owner;

  /** Begins a sample: the generator belongs to the calling thread until {@link #end}. */
  public void begin(long seed, long epoch, long index) {
    owner = Thread.currentThread();
    state =
        Hash64.mix(
            Hash64.mix(Hash64.mix(seed + Hash64.GAMMA) ^ (epoch + Hash64.GAMMA))
                ^ (index + Hash64.GAMMA));
  }

  public void end() {
    owner = null;
  }

  @Override
  public long nextLong() {
    if (owner != Thread.currentThread()) {
      throw new IllegalStateException(
          "the random numbers of a sample are valid only in its call and thread, not after the"
              + " sample or elsewhere");
    }
    state += Hash64.GAMMA;
    return Hash64.mix(state);
  }
}
