// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;

/** The dataset from its first sample to its last, without libtorch. */
record SequentialInJava(SequentialSampler plan) implements Sampler {
  @Override
  public long size() {
    return plan.size();
  }

  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
    SlicedRest whole = new SlicedRest(size(), Tail.PAD, List.of());
    return new SliceCursor(this, whole, size(), 0, size());
  }

  @Override
  public PlanParameters parameters() {
    return plan.parameters();
  }
}
