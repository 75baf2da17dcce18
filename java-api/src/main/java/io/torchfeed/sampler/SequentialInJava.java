// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** The dataset from its first sample to its last, without libtorch. */
record SequentialInJava(SequentialSampler plan) implements Sampler {
  @Override
  public long size() {
    return plan.size();
  }

  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
    return new RangeCursor(this, size());
  }

  @Override
  public PlanParameters parameters() {
    return plan.parameters();
  }
}
