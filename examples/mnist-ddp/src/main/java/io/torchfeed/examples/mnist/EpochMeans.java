// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.examples.common.EpochClock;
import io.torchfeed.metric.Mean;
import io.torchfeed.metric.MetricCollection;
import java.util.Map;

/**
 * The measurements of an epoch, as means over the ranks.
 *
 * @param trainLoss mean over the steps of all ranks
 * @param seconds of training
 * @param waitSeconds in which a rank waited for data
 * @param reductionSeconds in which a rank waited for the gradients of the others
 */
record EpochMeans(double trainLoss, double seconds, double waitSeconds, double reductionSeconds) {
  /** Merges the measurements of all ranks, which all call this. */
  static EpochMeans of(ProcessGroup group, EpochClock own, double reductionSeconds) {
    Mean loss = Mean.create();
    Mean seconds = Mean.create();
    Mean waiting = Mean.create();
    Mean reduction = Mean.create();
    if (own.batches() > 0) {
      loss.update(own.lossSum() / own.batches(), (double) own.batches());
    }
    seconds.update(own.seconds(), 1);
    waiting.update(own.waitSeconds(), 1);
    reduction.update(reductionSeconds, 1);
    MetricCollection.of(
            Map.of("loss", loss, "seconds", seconds, "waiting", waiting, "reduction", reduction))
        .merge(group);
    return new EpochMeans(
        loss.compute(), seconds.compute(), waiting.compute(), reduction.compute());
  }
}
