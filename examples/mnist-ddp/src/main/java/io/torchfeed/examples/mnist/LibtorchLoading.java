// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** Loads libtorch while the options are read: it is most of what a rank does before its work. */
final class LibtorchLoading {
  private static @Nullable Thread thread;

  private LibtorchLoading() {}

  static void start() {
    Thread loading = new Thread(() -> Loader.load(torch.class), "libtorch-loading");
    loading.setDaemon(true);
    // A failure comes again, with its stack, when the rank first touches libtorch.
    loading.setUncaughtExceptionHandler((failed, failure) -> {});
    thread = loading;
    loading.start();
  }

  /**
   * To be called before libtorch's classes are touched: two threads that initialise them may lock.
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
