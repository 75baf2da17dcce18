// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import java.util.List;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The net, the optimizer and the batches of golden/python_weighted.py. */
final class TokenNet extends Module {
  static final int BATCHES = 2;
  static final double MAX_NORM = 0.3;

  final SGD optimizer;
  private final LinearImpl first;
  private final LinearImpl last;

  TokenNet() {
    first = register_module("first", new LinearImpl(3, 4));
    last = register_module("last", new LinearImpl(4, 2));
    for (int number = 0; number < all().size(); number++) {
      Tensor parameter = all().get(number);
      parameter.detach().copy_(sines(parameter.numel(), 3.7, number).view_as(parameter));
    }
    SGDOptions options = new SGDOptions(0.5);
    options.momentum().put(0.9);
    optimizer = new SGD(parameters(), options);
  }

  private List<Tensor> all() {
    return List.of(first.weight(), first.bias(), last.weight(), last.bias());
  }

  private static Tensor sines(long count, double factor, double start) {
    float[] values = new float[(int) count];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) Math.sin(factor * i + start);
    }
    return Tensor.create(values);
  }

  static int tokens(int rank, int step, int batch) {
    return (5 * rank + 3 * step + 7 * batch) % 11;
  }

  /** Returns the mean loss of the tokens of a batch, which is NaN if it has none. */
  Tensor loss(int rank, int step, int batch) {
    int count = tokens(rank, step, batch);
    long[] classes = new long[count];
    for (int i = 0; i < count; i++) {
      int label = (i + rank + step + batch) % 2;
      classes[i] = label;
    }
    Tensor inputs = torch.zeros(0, 3);
    if (count > 0) {
      inputs = sines(3L * count, 7.3, rank + 10 * step + 100 * batch).view(count, 3);
    }
    Tensor targets = count > 0 ? Tensor.create(classes) : torch.zeros(new long[] {0});
    Tensor scores = last.forward(torch.tanh(first.forward(inputs)));
    return torch.cross_entropy(scores, targets.to(torch.ScalarType.Long));
  }

  /** Returns all parameters. */
  float[] values() {
    float[] values = new float[26];
    int place = 0;
    for (Tensor parameter : all()) {
      try (var pointer = new FloatPointer(parameter.data_ptr())) {
        pointer.get(values, place, Math.toIntExact(parameter.numel()));
        place += Math.toIntExact(parameter.numel());
      }
    }
    return values;
  }
}
