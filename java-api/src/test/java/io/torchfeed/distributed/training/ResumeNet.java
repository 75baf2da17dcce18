// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A net of a few numbers, whose parameters get their gradients in another order than they are
 * defined in. Its buffer counts forward passes, by a different number on each rank.
 */
final class ResumeNet extends Module {
  private final Tensor last;
  private final Tensor first;
  private final Tensor firstBias;
  private final Tensor middle;
  private final Tensor idle;
  private final Tensor seen;
  private int idleFrom = Integer.MAX_VALUE;

  ResumeNet(int seed) {
    middle = numbers(seed, 8, 8);
    register_parameter("middle", middle);
    last = numbers(seed + 1, 3, 8);
    register_parameter("last", last);
    firstBias = numbers(seed + 2, 1, 8);
    register_parameter("bias", firstBias);
    first = numbers(seed + 3, 8, 6);
    register_parameter("first", first);
    idle = numbers(seed + 4, 2, 3);
    register_parameter("idle", idle);
    seen = Tensor.create(new float[] {seed}, 1);
    register_buffer("seen", seen);
  }

  private static Tensor numbers(double seed, int rows, int columns) {
    float[] values = new float[rows * columns];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) Math.sin(7.3 * i + 11.1 * seed);
    }
    return Tensor.create(values, rows, columns);
  }

  /** Lets ranks from this one on leave a parameter unused. */
  void idleFrom(int rank) {
    idleFrom = rank;
  }

  Tensor loss(int rank, int step) {
    try (var noGrad = new NoGradGuard()) {
      seen.add_(new Scalar(rank + 1f));
    }
    Tensor x = numbers(100 + 10 * rank + step, 5, 6);
    Tensor hidden = torch.tanh(x.matmul(first.t()).add(firstBias));
    hidden = torch.tanh(hidden.matmul(middle.t()));
    if (rank < idleFrom) {
      hidden = hidden.add(idle.square().mean());
    }
    return hidden.matmul(last.t()).sub(seen.mul(new Scalar(1e-3f))).square().mean();
  }

  List<Tensor> all() {
    List<Tensor> all = new ArrayList<>(List.of(middle, last, firstBias, first, idle));
    all.add(seen);
    return all;
  }

  List<Tensor> trained() {
    return all().subList(0, 5);
  }

  /** Returns a net with the same parameters and, as if from rank 0, a buffer of its own. */
  ResumeNet copy() {
    ResumeNet copy = new ResumeNet(9);
    try (var noGrad = new NoGradGuard()) {
      for (int i = 0; i < trained().size(); i++) {
        copy.trained().get(i).copy_(trained().get(i));
      }
    }
    return copy;
  }

  /** Returns the bytes of parameters and buffer. */
  String bits() {
    StringBuilder bits = new StringBuilder();
    for (Tensor each : all()) {
      byte[] bytes = new byte[(int) each.nbytes()];
      new BytePointer(each.data_ptr()).get(bytes);
      bits.append(HexFormat.of().formatHex(bytes)).append('\n');
    }
    return bits.toString();
  }
}
