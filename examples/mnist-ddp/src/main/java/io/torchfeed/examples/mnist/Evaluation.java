// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.torchfeed.distributed.ProcessGroup;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The quality of the net on the test set.
 *
 * @param loss mean loss over the samples
 * @param accuracy share of the samples whose largest output is their label
 */
record Evaluation(double loss, double accuracy) {
  private static final int BATCH = 500;

  /**
   * Evaluates a separate slice on each rank, so that each sample counts once, and adds the sums.
   */
  static Evaluation of(Net net, MnistTensors test, ProcessGroup group, TrainingDevice device) {
    int from = (int) ((long) test.size() * group.rank() / group.size());
    int to = (int) ((long) test.size() * (group.rank() + 1) / group.size());
    return of(Collectives.sum(group, sums(net, test, from, to, device)));
  }

  /** Evaluates all samples on the CPU, in this process. */
  static Evaluation alone(Net net, MnistTensors test) {
    TrainingDevice cpu = new TrainingDevice(TrainingDevice.CPU, false);
    return of(sums(net, test, 0, test.size(), cpu));
  }

  private static Evaluation of(double[] sums) {
    return new Evaluation(sums[0] / sums[2], sums[1] / sums[2]);
  }

  /** Returns the sums of losses, right answers, and samples. */
  @SuppressWarnings("try") // a scope works by being open
  private static double[] sums(
      Net net, MnistTensors test, int from, int to, TrainingDevice device) {
    double loss = 0;
    double correct = 0;
    net.train(false);
    try (NoGradGuard guard = new NoGradGuard()) {
      for (int at = from; at < to; at += BATCH) {
        int count = Math.min(BATCH, to - at);
        try (PointerScope scope = new PointerScope()) {
          Tensor labels = device.of(test.labels(at, count), ScalarType.Long);
          Tensor output = net.forward(device.of(test.images(at, count), ScalarType.Float));
          loss += nll_loss(output, labels).item_float() * (double) count;
          correct += output.argmax(new LongOptional(1), false).eq(labels).sum().item_long();
        }
      }
    } finally {
      net.train(true);
    }
    return new double[] {loss, correct, to - from};
  }
}
