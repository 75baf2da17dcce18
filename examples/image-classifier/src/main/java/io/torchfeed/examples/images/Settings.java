// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The options that training and evaluation share. */
final class Settings {
  @Option(
      names = "--data",
      required = true,
      paramLabel = "DIR",
      description =
          "Folder with train and val, each with a folder of images for each class, or with"
              + " train.records and val.records.")
  private Path data = Path.of("");

  @Option(
      names = "--size",
      paramLabel = "N",
      description = "Height and width of the net's input (default: ${DEFAULT-VALUE}).")
  private int size = 128;

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
   * @throws IllegalArgumentException if one is out of range, or a folder is missing
   */
  void check() {
    require(size >= 32 && size <= 1024, "--size must be in [32, 1024], got " + size);
    require(
        batchSize >= 1 && batchSize <= 4096, "--batch-size must be in [1, 4096], got " + batchSize);
    require(workers >= 1 && workers <= 256, "--workers must be in [1, 256], got " + workers);
    for (String part : new String[] {"train", "val"}) {
      Path folder = data.resolve(part);
      Path records = Images.records(data, part);
      require(
          Files.isDirectory(folder) || Files.isRegularFile(records),
          "--data: the folder " + folder + " is missing, and so is " + records.getFileName());
    }
  }

  static void require(boolean holds, String message) {
    if (!holds) {
      throw new IllegalArgumentException(message);
    }
  }

  Path data() {
    return data;
  }

  int size() {
    return size;
  }

  int batchSize() {
    return batchSize;
  }

  int workers() {
    return workers;
  }
}
