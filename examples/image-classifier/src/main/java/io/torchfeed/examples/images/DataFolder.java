// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The option that names the pictures to train on and to evaluate. */
final class DataFolder {
  @Option(
      names = "--data",
      required = true,
      paramLabel = "DIR",
      description =
          "Folder with train and val, each with a folder of images for each class, or with"
              + " train.records and val.records.")
  private Path data = Path.of("");

  /**
   * Throws if a part is missing.
   *
   * @param parts {@code train}, {@code val} or both
   * @throws IllegalArgumentException if one has neither a folder nor a record file
   */
  void check(String... parts) {
    for (String part : parts) {
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

  Path path() {
    return data;
  }
}
