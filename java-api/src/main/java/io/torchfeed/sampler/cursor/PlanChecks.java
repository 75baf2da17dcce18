// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import static java.util.Objects.requireNonNull;

import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;

/** The checks and descriptions that plans over whole orders have in common. */
public final class PlanChecks {
  /** The longest epoch: distributing it over any number of ranks does not overflow. */
  public static final long MAX_SIZE = 1L << 62;

  /** The maximum depth of nested plans: reading takes stack space for each. */
  private static final int MAX_NESTED = 63;

  private PlanChecks() {}

  public static long requireSamples(long samples) {
    if (samples < 0 || samples > MAX_SIZE) {
      throw new IllegalArgumentException(
          "samples must be in [0, %d], got %d".formatted(MAX_SIZE, samples));
    }
    return samples;
  }

  /** Requires a whole plan, short enough to be distributed over any number of ranks. */
  public static Sampler requireDivisible(Sampler plan, String name) {
    if (requireWhole(plan, name).size() > MAX_SIZE) {
      throw new IllegalArgumentException(
          "%s must have at most %d indices, got %d".formatted(name, MAX_SIZE, plan.size()));
    }
    return plan;
  }

  /** Requires a plan that is not one rank's part of another. */
  public static Sampler requireWhole(Sampler plan, String name) {
    requireNonNull(plan, name);
    if (plan.part().worldSize() > 1) {
      throw new IllegalArgumentException(
          "%s must be a plan of the whole order, got the part of %s: %s"
              .formatted(name, plan.part(), plan));
    }
    if (plan.depth() > MAX_NESTED) {
      throw new IllegalArgumentException(
          "%s must nest at most %d plans, got %d; combine all sources in one plan"
              .formatted(name, MAX_NESTED, plan.depth()));
    }
    return plan;
  }

  /**
   * Returns the order of a plan that distributes another one by a rule, without the rule's own
   * parameters.
   */
  public static PlanParameters dividedOrder(Sampler plan, String rule, String... ownNames) {
    return plan.order().inside(rule, ownNames);
  }

  /** Returns kind and parameters in the format of a record's {@code toString}. */
  public static String described(Sampler plan) {
    PlanParameters parameters = plan.parameters();
    String kind = parameters.kind();
    String values = parameters.values().toString();
    return kind.substring(kind.indexOf('.') + 1)
        + "["
        + values.substring(1, values.length() - 1)
        + "]";
  }

  /** Returns the size of the largest batch of a plan, checked: a plan may be the caller's own. */
  public static int maxBatchSize(BatchSampler sampler) {
    int largest = sampler.maxBatchSize();
    if (largest < 1) {
      throw new IllegalStateException(
          "maxBatchSize of %s must be at least 1, got %d".formatted(sampler, largest));
    }
    return largest;
  }
}
