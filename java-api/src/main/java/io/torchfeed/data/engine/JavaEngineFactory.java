// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

/** An engine of worker threads that run the code of a dataset. */
public record JavaEngineFactory(JavaEngineOptions options) implements BatchEngineFactory {
  @Override
  public BatchEngine createEngine() {
    return new JavaEngine(options);
  }

  @Override
  public void close() {}
}
