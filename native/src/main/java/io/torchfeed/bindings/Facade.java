// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

import org.bytedeco.javacpp.Loader;

/** The loading of libtorch and of torchfeed's own library, before the first use of a binding. */
public final class Facade {
  private static final LoadedOnce LIBRARIES =
      new LoadedOnce(
          () -> {
            Libtorch.load();
            Loader.load(torchfeed.class);
          });

  private Facade() {}

  /**
   * Loads the libraries. Has no effect the second time.
   *
   * @throws LoadFailure if a library is missing or cannot be loaded, in each call, with the reason
   */
  public static void load() {
    LIBRARIES.load();
  }
}
