// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import java.io.Serializable;

/**
 * The work of a rank, which runs on an executor.
 *
 * <p>It is serialized, with the variables of a lambda: tensors, modules and loaders are made in it,
 * and closed in it.
 *
 * @param <R> the type of the result
 */
@FunctionalInterface
public interface RankTask<R extends Serializable> extends Serializable {
  /**
   * Trains.
   *
   * @param context the place of this rank, its group and checkpoints; valid in this call
   * @param rows the rows of this rank; valid in this call
   * @return the result for the driver, for example {@link ModelBytes#of} the model
   * @throws Exception if the training fails: then the job ends, and the driver gets it as the cause
   *     of a {@link SparkRanksException}. A {@link io.torchfeed.distributed.PeerLostException} lets
   *     Spark repeat the stage instead
   */
  R train(RankContext context, RankRows rows) throws Exception;
}
