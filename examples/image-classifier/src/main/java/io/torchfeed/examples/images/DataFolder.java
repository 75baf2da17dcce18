// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Option;

/** The option that names the images to train on and to evaluate. */
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

  /**
   * Throws if the parts cannot be trained on; decodes no image.
   *
   * @throws IllegalArgumentException if there is no class or no image of one, or the classes of
   *     both parts differ
   */
  void checkClasses() {
    requireSameClasses(Images.classes(data, "train"), Images.classes(data, "val"));
  }

  static void requireSameClasses(List<String> train, List<String> val) {
    require(train.equals(val), "--data: train has the classes %s, val %s".formatted(train, val));
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
