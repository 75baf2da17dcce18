// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.planner;

import io.torchfeed.sampler.balance.BaguaLoadBalancingSampler;
import io.torchfeed.sampler.balance.BalanceReport;
import io.torchfeed.sampler.balance.LoadBalancingDistributedSampler;
import io.torchfeed.sampler.balance.StepGrouping;
import io.torchfeed.sampler.balance.TokenBudgetBatchSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.util.List;
import java.util.function.Function;

/**
 * A sampler that the planner compares.
 *
 * @param name its name in the table
 * @param meaning a one-line description
 * @param report the function that plans and measures one epoch
 */
record Strategy(String name, String meaning, Function<Setup, BalanceReport> report) {
  /** Returns the samplers to compare; the first is the baseline of the others. */
  static List<Strategy> all() {
    return List.of(
        new Strategy("random", "shuffled, assigned to the ranks round-robin", Strategy::random),
        new Strategy(
            "Bagua",
            "one sample of similar cost per rank at a time, in random order",
            Strategy::bagua),
        new Strategy(
            "balanced",
            "equal counts; each step mixes all costs, assigned so that ranks are equal",
            setup -> balanced(setup, StepGrouping.MIXED)),
        new Strategy(
            "bucketed",
            "equal counts; each step has similar costs, assigned so that ranks are equal",
            setup -> balanced(setup, StepGrouping.BUCKETED)),
        new Strategy(
            "token budget",
            "batches of varying size whose padded cost is at most the budget",
            Strategy::tokenBudget));
  }

  private static BalanceReport random(Setup setup) {
    return BalanceReport.over(setup.costs(), setup.worldSize())
        .samplers(
            setup.batchSize(),
            rank -> ShuffledSampler.of(setup.costs().size(), setup.part(rank), setup.seed()));
  }

  private static BalanceReport bagua(Setup setup) {
    return BalanceReport.over(setup.costs(), setup.worldSize())
        .samplers(
            setup.batchSize(),
            rank ->
                BaguaLoadBalancingSampler.of(setup.costs(), setup.part(rank))
                    .withSeed(setup.seed()));
  }

  private static BalanceReport balanced(Setup setup, StepGrouping grouping) {
    LoadBalancingDistributedSampler first =
        LoadBalancingDistributedSampler.builder(setup.costs(), setup.part(0), setup.batchSize())
            .grouping(grouping)
            .seed(setup.seed())
            .build();
    return BalanceReport.over(setup.costs(), setup.worldSize())
        .samplers(setup.batchSize(), first::forRank);
  }

  private static BalanceReport tokenBudget(Setup setup) {
    TokenBudgetBatchSampler first =
        TokenBudgetBatchSampler.of(setup.costs(), setup.budget(), setup.part(0))
            .withSeed(setup.seed());
    return BalanceReport.over(setup.costs(), setup.worldSize()).batchSamplers(first::forRank);
  }
}
