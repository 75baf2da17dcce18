// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Which positions of a rank of libtorch's {@code DistributedRandomSampler} are padding. The C++
 * class forgets it: it shuffles the padded list. So the first question shuffles once more, in Java.
 */
final class ShuffledPadding implements LongPredicate {
  private final DistributedRandomSampler plan;
  private final long epoch;
  private @Nullable Cursor inJava;

  ShuffledPadding(DistributedRandomSampler plan, long epoch) {
    this.plan = plan;
    this.epoch = epoch;
  }

  @Override
  public boolean test(long position) {
    return plan.size() * plan.worldSize() > plan.datasetSize() && inJava().isPadding(position);
  }

  /** Holds a list in heap memory only: nothing to close. */
  private synchronized Cursor inJava() {
    if (inJava == null) {
      inJava = plan.inJava().epoch(epoch);
    }
    return inJava;
  }
}
