// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/**
 * What a worker thread does before its first sample and after its last, for example a connection.
 */
public interface WorkerHooks {
  /**
   * A worker begins. What it throws reaches the consumer at the first batch of that worker.
   *
   * @param worker the number of the worker, from 0 on; no two of a loader have the same, and one
   *     that takes the place of another has a new one
   * @throws Exception if the worker cannot begin
   */
  default void start(int worker) throws Exception {}

  /**
   * A worker that began ends; called in its thread, also when the loader is closed. What it throws
   * is lost.
   *
   * @param worker the number of the worker, from 0 on; no two of a loader have the same, and one
   *     that takes the place of another has a new one
   * @throws Exception ignored
   */
  default void stop(int worker) throws Exception {}
}
