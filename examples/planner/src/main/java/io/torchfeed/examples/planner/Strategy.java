// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.planner;

import io.torchfeed.sampler.BaguaLoadBalancingSampler;
import io.torchfeed.sampler.BalanceReport;
import io.torchfeed.sampler.Grouping;
import io.torchfeed.sampler.LoadBalancingDistributedSampler;
import io.torchfeed.sampler.ShuffledSampler;
import io.torchfeed.sampler.TokenBudgetBatchSampler;
import java.util.List;
import java.util.function.Function;

/**
 * A sampler that the planner shows.
 *
 * @param name what the table calls it
 * @param meaning one line on what it does
 * @param report plans and measures one epoch
 */
record Strategy(String name, String meaning, Function<Setup, BalanceReport> report) {
  /** The samplers that are compared; the first is what the others are measured against. */
  static List<Strategy> all() {
    return List.of(
        new Strategy("random", "shuffled, dealt over the ranks by stride", Strategy::random),
        new Strategy(
            "Bagua", "one sample a rank of like cost at a time, in random order", Strategy::bagua),
        new Strategy(
            "balanced",
            "equal counts; each step of all costs, dealt so that ranks are alike",
            setup -> balanced(setup, Grouping.MIXED)),
        new Strategy(
            "bucketed",
            "equal counts; each step of like costs, dealt so that ranks are alike",
            setup -> balanced(setup, Grouping.BUCKETED)),
        new Strategy(
            "token budget",
            "batches of varying size whose padded cost is at most the budget",
            Strategy::tokenBudget));
  }

  private static BalanceReport random(Setup setup) {
    return BalanceReport.over(setup.costs(), setup.worldSize())
        .samplers(
            setup.batchSize(),
            rank ->
                new ShuffledSampler(setup.costs().size(), setup.worldSize(), rank, setup.seed()));
  }

  private static BalanceReport bagua(Setup setup) {
    return BalanceReport.over(setup.costs(), setup.worldSize())
        .samplers(
            setup.batchSize(),
            rank ->
                new BaguaLoadBalancingSampler(setup.costs(), setup.worldSize(), rank)
                    .withSeed(setup.seed()));
  }

  private static BalanceReport balanced(Setup setup, Grouping grouping) {
    LoadBalancingDistributedSampler first =
        LoadBalancingDistributedSampler.builder(
                setup.costs(), setup.worldSize(), 0, setup.batchSize())
            .grouping(grouping)
            .seed(setup.seed())
            .build();
    return BalanceReport.over(setup.costs(), setup.worldSize())
        .samplers(setup.batchSize(), first::forRank);
  }

  private static BalanceReport tokenBudget(Setup setup) {
    TokenBudgetBatchSampler first =
        TokenBudgetBatchSampler.builder(setup.costs(), setup.budget())
            .ranks(setup.worldSize(), 0)
            .seed(setup.seed())
            .build();
    return BalanceReport.over(setup.costs(), setup.worldSize()).batchSamplers(first::forRank);
  }
}
