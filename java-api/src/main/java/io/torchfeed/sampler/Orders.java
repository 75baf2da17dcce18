// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

/** What plans over whole orders have in common: their checks and their names in messages. */
final class Orders {
  /** The longest epoch: dealing it over any number of ranks does not overflow. */
  static final long LONGEST = 1L << 62;

  private Orders() {}

  static long requireSamples(long samples) {
    if (samples < 0 || samples > LONGEST) {
      throw new IllegalArgumentException(
          "samples must be in [0, %d], got %d".formatted(LONGEST, samples));
    }
    return samples;
  }

  /** Requires a whole plan, short enough to be dealt over any number of ranks. */
  static Sampler requireDealable(Sampler plan, String name) {
    if (requireWhole(plan, name).size() > LONGEST) {
      throw new IllegalArgumentException(
          "%s must have at most %d indices, got %d".formatted(name, LONGEST, plan.size()));
    }
    return plan;
  }

  /** Requires a plan that is not one rank's part of another. */
  static Sampler requireWhole(Sampler plan, String name) {
    requireNonNull(plan, name);
    if (plan instanceof DistributedSampler divided && divided.worldSize() > 1) {
      throw new IllegalArgumentException(
          "%s must be a plan of the whole order, got rank %d of %d of one: %s"
              .formatted(name, divided.rank(), divided.worldSize(), plan));
    }
    return plan;
  }

  /** The order of a plan that deals another one by a rule, apart from the rule's own parameters. */
  static PlanParameters dealt(Sampler plan, String rule, String... ownNames) {
    PlanParameters whole =
        plan instanceof DistributedSampler ofOneRank ? ofOneRank.order() : plan.parameters();
    return whole.inside(rule, ownNames);
  }

  /** Kind and parameters, as the records print themselves. */
  static String described(Sampler plan) {
    PlanParameters parameters = plan.parameters();
    String kind = parameters.kind();
    String values = parameters.values().toString();
    return kind.substring(kind.indexOf('.') + 1)
        + "["
        + values.substring(1, values.length() - 1)
        + "]";
  }
}
