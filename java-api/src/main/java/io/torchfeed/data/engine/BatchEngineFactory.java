// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

/** A factory of the engines of a loader; each pass has an engine of its own. */
public interface BatchEngineFactory extends AutoCloseable {
  /**
   * Starts an engine.
   *
   * @throws IllegalStateException if its threads cannot be started
   */
  BatchEngine createEngine();

  /** Releases the data; engines already created continue to work. */
  @Override
  void close();
}
