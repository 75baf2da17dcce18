// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.IndexTasks;

/** A factory of engines of JVM threads. */
public record JavaEngineFactory(JavaEngineOptions options) implements BatchEngineFactory {
  @Override
  public BatchEngine createEngine() {
    return new JavaEngine(options);
  }

  @Override
  public void close() {
    IndexTasks tasks = options.tasks();
    if (tasks != null) {
      tasks.close();
    }
  }
}
