// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import io.torchfeed.data.Batches;
import io.torchfeed.distributed.training.ReplicatedModel;

/** The work of a step. */
interface BatchWork {
  /**
   * Trains with the next batches.
   *
   * @param pass has at least one more
   */
  void run(ReplicatedModel model, Batches pass);
}
