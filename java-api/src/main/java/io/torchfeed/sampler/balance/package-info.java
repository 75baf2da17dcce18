// SPDX-License-Identifier: Apache-2.0
/**
 * Equal work for the ranks of a step, where samples differ in cost.
 *
 * <p>{@link io.torchfeed.sampler.balance.LoadBalancingDistributedSampler} assigns equal numbers of
 * samples of equal cost, {@link io.torchfeed.sampler.balance.TokenBudgetBatchSampler} as many
 * samples as a budget allows. {@link io.torchfeed.sampler.balance.Costs} holds the costs of
 * samples, {@link io.torchfeed.sampler.balance.CostEstimator} learns them, and {@link
 * io.torchfeed.sampler.balance.BalanceReport} shows how equal the work of any plan is.
 *
 * <p>{@link io.torchfeed.sampler.balance.BaguaLoadBalancingSampler} has the orders of Bagua's
 * load-balancing loader bit for bit, {@link
 * io.torchfeed.sampler.balance.BaguaLoadBalancingBatchSampler} its batches with their defects
 * corrected.
 */
@NullMarked
package io.torchfeed.sampler.balance;

import org.jspecify.annotations.NullMarked;
