// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The loading of libtorch in parallel with option parsing; it is most of the start-up of a rank.
 */
final class LibtorchLoading {
  private static @Nullable Thread thread;

  private LibtorchLoading() {}

  static void start() {
    Thread loading = new Thread(() -> Loader.load(torch.class), "libtorch-loading");
    loading.setDaemon(true);
    // A failure recurs, with its stack trace, when the rank first touches libtorch.
    loading.setUncaughtExceptionHandler((failed, failure) -> {});
    thread = loading;
    loading.start();
  }

  /**
   * Waits for the loading. Call this before touching libtorch's classes: two threads that
   * initialize them may deadlock.
   */
  static void await() {
    Thread loading = thread;
    if (loading == null) {
      return;
    }
    try {
      loading.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
