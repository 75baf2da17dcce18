// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The option that names a trained net. */
final class ModelOption {
  @Option(
      names = "--model",
      required = true,
      paramLabel = "FILE",
      description = {
        "The file model.pt that train has written, with its size and classes,",
        "or the .pt2 package of peers/train.py."
      })
  private Path model = Path.of("");

  /**
   * Reads the net; the caller closes it.
   *
   * @throws IllegalArgumentException if the file is missing, or is none that these programs have
   *     written
   */
  Classifier load() {
    return Classifier.load(model);
  }

  Path path() {
    return model;
  }
}
