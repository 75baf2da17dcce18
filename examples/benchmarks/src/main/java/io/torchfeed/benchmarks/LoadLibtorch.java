// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.examples.common.Kernel;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;

/** A program that loads the presets' libtorch, nothing else, and prints the age of its process. */
public final class LoadLibtorch {
  private LoadLibtorch() {}

  /**
   * Loads libtorch and prints the seconds since the process started.
   *
   * @param args none
   */
  public static void main(String[] args) {
    Loader.load(torch.class);
    System.out.println(Kernel.processSeconds());
  }
}
