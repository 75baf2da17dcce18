// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

/**
 * Libraries that are loaded by the first call. If that fails, each later call throws the reason,
 * where the JVM would only say that a class could not be initialized. Thread-safe.
 */
final class LoadedOnce {
  private final Runnable loading;
  private volatile boolean isLoaded;
  private LoadFailure failure;

  LoadedOnce(Runnable loading) {
    this.loading = loading;
  }

  void load() {
    if (!isLoaded) {
      loadFirst();
    }
  }

  private synchronized void loadFirst() {
    if (failure != null) {
      throw failure.again();
    }
    if (isLoaded) {
      return;
    }
    try {
      loading.run();
      isLoaded = true;
    } catch (LinkageError e) {
      failure = LoadFailure.of(e);
      throw failure;
    }
  }
}
