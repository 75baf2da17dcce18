// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * The quality of the net on the test set.
 *
 * @param loss mean loss over the samples
 * @param accuracy share of the samples whose largest output is their label
 */
record Evaluation(double loss, double accuracy) {
  private static final int BATCH = 500;

  /** Evaluates each sample on one rank, and adds the sums. */
  @SuppressWarnings("try") // a scope works by being open
  static Evaluation of(Net net, NativeDataset test, ProcessGroup group, TrainingDevice device) {
    StridedSampler sampler =
        StridedSampler.of(SequentialSampler.of(test.size()), group.part()).withTail(Tail.UNEVEN);
    double loss = 0;
    double correct = 0;
    net.train(false);
    try (NoGradGuard guard = new NoGradGuard();
        DataLoader loader =
            DataLoader.over(test).sampler(sampler).device(device.name()).batchSize(BATCH).build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        try (PointerScope scope = new PointerScope()) {
          Tensor labels = batch.tensor(1);
          Tensor output = net.forward(batch.tensor(0));
          loss += nll_loss(output, labels).item_float() * (double) batch.size();
          correct += output.argmax(new LongOptional(1), false).eq(labels).sum().item_long();
        }
      }
    } finally {
      net.train(true);
    }
    double[] sums = sumOverRanks(group, loss, correct);
    return new Evaluation(sums[0] / test.size(), sums[1] / test.size());
  }

  /** Sums each value over the ranks; every rank must call this with the same number of values. */
  @SuppressWarnings("try") // a scope works by being open
  static double[] sumOverRanks(ProcessGroup group, double... values) {
    try (PointerScope scope = new PointerScope()) {
      Tensor tensor = Tensor.create(values);
      group.allReduce(tensor, ReduceOp.SUM);
      double[] sums = new double[values.length];
      tensor.data_ptr_double().get(sums);
      return sums;
    }
  }
}
