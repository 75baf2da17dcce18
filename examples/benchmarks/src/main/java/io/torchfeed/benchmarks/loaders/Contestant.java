// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.io.IOException;

/** A way of loading with a given number of workers. Used by one thread. */
interface Contestant extends AutoCloseable {
  /**
   * Loads an epoch, batch by batch.
   *
   * @param number the epoch; selects the same order in all contestants that share one
   * @param sink receives each batch
   * @return the number of rows loaded
   */
  long epoch(long number, BatchSink sink) throws Exception;

  @Override
  void close() throws IOException;
}
