// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import java.util.List;

/**
 * A plan of libtorch's order whose epochs are computed in Java.
 *
 * @param plan the plan computed by libtorch
 * @param rest opens this rank's part of the samples that segments left
 */
record InJava(Sampler plan, Rest rest) implements Sampler, DividedPlan<Cursor> {
  /** A function that opens a cursor in Java. */
  @FunctionalInterface
  interface Rest {
    Cursor open(long epoch, List<EpochSegment> before);
  }

  @Override
  public Part part() {
    return plan.part();
  }

  @Override
  public Tail tail() {
    return plan.tail();
  }

  @Override
  public long size() {
    return plan.size();
  }

  @Override
  public Cursor openPart(long epoch, List<EpochSegment> before) {
    return rest.open(epoch, before);
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    return plan.probe(epoch, worldSize);
  }

  @Override
  public PlanParameters order() {
    return plan.order();
  }

  @Override
  public PlanParameters parameters() {
    return plan.parameters();
  }

  @Override
  public String toString() {
    return plan.toString();
  }
}
