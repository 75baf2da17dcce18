// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.io.IOException;

/** One way of loading, with a number of workers. Used by one thread. */
interface Contestant extends AutoCloseable {
  /**
   * Loads an epoch, batch by batch.
   *
   * @param number which epoch; of those that share their order with another the same is the same
   * @param sink takes each batch
   * @return how many rows came
   */
  long epoch(long number, BatchSink sink) throws Exception;

  @Override
  void close() throws IOException;
}
