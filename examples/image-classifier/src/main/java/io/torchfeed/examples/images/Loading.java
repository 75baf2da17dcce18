// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import static io.torchfeed.examples.images.DataFolder.require;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import picocli.CommandLine.Option;

/** The options of loading that all commands share. */
final class Loading {
  @Option(
      names = "--batch-size",
      paramLabel = "N",
      description = "Images per rank and step (default: ${DEFAULT-VALUE}).")
  private int batchSize = 32;

  @Option(
      names = "--workers",
      paramLabel = "N",
      description = "Threads that decode, per rank (default: ${DEFAULT-VALUE}).")
  private int workers = 1;

  /**
   * Throws if an option cannot be used.
   *
   * @throws IllegalArgumentException if one is out of range
   */
  void check() {
    require(
        batchSize >= 1 && batchSize <= 4096, "--batch-size must be in [1, 4096], got " + batchSize);
    require(workers >= 1 && workers <= 256, "--workers must be in [1, 256], got " + workers);
  }

  /** Returns a loader to build, with these options. */
  DataLoaderBuilder of(NativeDataset images) {
    return DataLoader.over(images).batchSize(batchSize).workers(workers);
  }

  int batchSize() {
    return batchSize;
  }

  int workers() {
    return workers;
  }
}
