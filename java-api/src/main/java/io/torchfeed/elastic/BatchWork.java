// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import io.torchfeed.distributed.training.ReplicatedModel;

/** The work of a step. */
interface BatchWork {
  /**
   * Trains with the batches of a step.
   *
   * @param pass at the start of the step
   */
  void run(ReplicatedModel model, EpochBatches pass);
}
