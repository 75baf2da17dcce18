// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;

/** A plan of libtorch's whose whole epochs are computed in Java too. */
record InJava(DistributedSampler plan) implements DistributedSampler {
  @Override
  public int worldSize() {
    return plan.worldSize();
  }

  @Override
  public int rank() {
    return plan.rank();
  }

  @Override
  public long size() {
    return plan.size();
  }

  @Override
  public Cursor epoch(long epoch) {
    return plan.resume(epoch, List.of());
  }

  @Override
  public Cursor resume(long epoch, List<Segment> delivered) {
    return plan.resume(epoch, delivered);
  }

  @Override
  public PlanParameters order() {
    return plan.order();
  }

  @Override
  public PlanParameters parameters() {
    return plan.parameters();
  }
}
