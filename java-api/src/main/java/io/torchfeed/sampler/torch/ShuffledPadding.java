// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.sampler.Cursor;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * A test for the padding positions of a rank of libtorch's {@code DistributedRandomSampler}. The
 * C++ class shuffles the padded list and does not record its padding, so the first test shuffles
 * once more, in Java.
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
    return plan.size() * plan.part().worldSize() > plan.datasetSize()
        && inJava().isPadding(position);
  }

  /** Returns a cursor that holds only a list in heap memory, and so need not be closed. */
  private synchronized Cursor inJava() {
    if (inJava == null) {
      inJava = plan.inJava().epoch(epoch);
    }
    return inJava;
  }
}
