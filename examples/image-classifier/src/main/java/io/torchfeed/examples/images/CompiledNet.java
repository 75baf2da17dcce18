// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.compiled.CompiledModel;
import io.torchfeed.compiled.CompiledModelException;
import java.nio.file.Path;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * A net that {@code peers/train.py --package} has trained and compiled in Python.
 *
 * @param model the package; closed with this object
 * @param size height and width of its input
 * @param classes the names of its outputs
 */
record CompiledNet(CompiledModel model, int size, List<String> classes) implements Classifier {
  /**
   * Opens a package; the caller closes it.
   *
   * @throws IllegalArgumentException if the file is missing, or is no package of that program
   */
  static CompiledNet load(Path file) {
    CompiledModel model;
    try {
      model = CompiledModel.open(file);
    } catch (CompiledModelException e) {
      throw new IllegalArgumentException("--model: " + e.getMessage(), e);
    }
    String size = model.metadata().getOrDefault("size", "");
    String classes = model.metadata().getOrDefault("classes", "");
    if (!size.matches("[1-9][0-9]{0,3}") || classes.isEmpty()) {
      model.close();
      throw new IllegalArgumentException(
          ("--model: %s is no net that peers/train.py has compiled: it does not name the size and"
                  + " classes of its images")
              .formatted(file));
    }
    return new CompiledNet(model, Integer.parseInt(size), List.of(classes.split("/")));
  }

  @Override
  public Tensor logits(Tensor images) {
    return model.run(images)[0];
  }

  @Override
  public void close() {
    model.close();
  }
}
