// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import io.torchfeed.compiled.CompiledModel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** A model that Python has compiled, on an executor. */
final class CompiledForward implements RankModel.Forward {
  private final CompiledModel model;
  private boolean takesOneRow = true; // until it refuses one

  private CompiledForward(CompiledModel model) {
    this.model = model;
  }

  static CompiledForward open(byte[] content) {
    Path file = temporary(content);
    CompiledModel model;
    try {
      model = CompiledModel.open(file);
    } catch (RuntimeException | Error e) {
      try {
        Files.delete(file);
      } catch (IOException notDeleted) {
        e.addSuppressed(notDeleted);
      }
      throw e;
    }
    try {
      Files.delete(file);
    } catch (IOException e) {
      model.close();
      throw new UncheckedIOException("a temporary file cannot be deleted", e);
    }
    return new CompiledForward(model);
  }

  private static Path temporary(byte[] content) {
    try {
      Path file = Files.createTempFile("torchfeed-model-", ".pt2");
      return Files.write(file, content);
    } catch (IOException e) {
      throw new UncheckedIOException("the bytes of a model cannot be written", e);
    }
  }

  @Override
  public Tensor of(Tensor[] columns) {
    if (columns[0].size(0) > 1) {
      return first(columns);
    }
    if (takesOneRow) {
      try {
        return first(columns);
      } catch (IllegalArgumentException e) {
        Tensor output = ofTwoRows(columns, e);
        takesOneRow = false;
        return output;
      }
    }
    return first(twice(columns)).narrow(0, 0, 1);
  }

  private Tensor ofTwoRows(Tensor[] columns, IllegalArgumentException refusal) {
    try {
      return first(twice(columns)).narrow(0, 0, 1);
    } catch (IllegalArgumentException e) {
      throw refusal; // the number of rows is not the reason
    }
  }

  private static Tensor[] twice(Tensor[] columns) {
    Tensor[] twice = new Tensor[columns.length];
    for (int i = 0; i < twice.length; i++) {
      twice[i] = torch.cat(new TensorVector(columns[i], columns[i]), 0);
    }
    return twice;
  }

  private Tensor first(Tensor[] columns) {
    Tensor[] outputs = model.run(columns);
    if (outputs.length == 0) {
      throw new IllegalArgumentException("a compiled model must have an output, got none");
    }
    return outputs[0];
  }

  @Override
  public void close() {
    model.close();
  }
}
