// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/**
 * The actions of a worker thread before its first sample and after its last, for example to open
 * and close a connection.
 */
public interface WorkerHooks {
  /**
   * Runs when a worker starts. An exception reaches the consumer in place of the first batch of
   * that worker.
   *
   * @param worker the number of the worker, starting at 0; it is unique in the loader, and a worker
   *     that replaces another has a new number
   * @throws Exception if the worker cannot start
   */
  default void start(int worker) throws Exception {}

  /**
   * Runs when a worker that has started ends, in its thread, including when the loader is closed.
   * Exceptions are ignored.
   *
   * @param worker the number of the worker, starting at 0; it is unique in the loader, and a worker
   *     that replaces another has a new number
   * @throws Exception ignored
   */
  default void stop(int worker) throws Exception {}
}
