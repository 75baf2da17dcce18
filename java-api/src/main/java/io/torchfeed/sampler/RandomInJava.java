// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** The order of libtorch's {@code RandomSampler}, computed in Java: one {@code randperm}. */
record RandomInJava(RandomSampler plan) implements Sampler {
  @Override
  public long size() {
    return plan.size();
  }

  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
    if (size() > IndexList.LONGEST) {
      throw new IllegalStateException(
          "an order in Java has at most %d indices, got %s; the plan's own epoch, computed by libtorch, has no such limit"
              .formatted(IndexList.LONGEST, plan));
    }
    int n = (int) size();
    int[] list = IndexList.ints(plan, n);
    Randperm.write(new Mt19937(plan.seed() + epoch), n, list, 0, n);
    return new ListCursor(plan, IndexList.of(list));
  }

  @Override
  public PlanParameters parameters() {
    return plan.parameters();
  }
}
