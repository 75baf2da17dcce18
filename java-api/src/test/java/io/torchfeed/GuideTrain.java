// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.python.PythonDistributedSampler;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** The program of the ranks of {@link GuideTest}. */
public final class GuideTrain {
  private GuideTrain() {}

  @SuppressWarnings("try") // a scope works by being open
  public static void main(String[] args) {
    torch.manual_seed(1);
    Tensor inputs = torch.randn(new long[] {10, 4}, new TensorOptions());
    Tensor targets = torch.randn(new long[] {10, 2}, new TensorOptions());
    LinearImpl net = new LinearImpl(4, 2);
    if (args.length > 0) {
      accumulate(net, inputs, targets);
      return;
    }
    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
    // guide: ddp
    try (ProcessGroup group = ProcessGroup.join();
        DistributedDataParallel model = DistributedDataParallel.wrap(net, group);
        TensorDataset data = TensorDataset.of(inputs, targets)) {
      Sampler sampler = PythonDistributedSampler.of(data.size(), group.part()).withSeed(7);
      var options = DataLoader.over(data).sampler(sampler).batchSize(2);
      try (DataLoader loader = options.verifyRanks(group::allGatherLongs).build()) {
        for (long epoch = 0; epoch < 3; epoch++) {
          try (Batches batches = loader.epoch(epoch)) {
            for (Batch batch : batches) {
              try (PointerScope scope = new PointerScope()) {
                optimizer.zero_grad();
                model.backward(mse_loss(net.forward(batch.tensor(0)), batch.tensor(1)));
                optimizer.step();
              }
            }
          }
        }
      }
      model.verifyReplicas(); // optional: all ranks have the same parameters, bit for bit
    }
    // guide: end
  }

  @SuppressWarnings("try") // a scope works by being open
  private static void accumulate(LinearImpl net, Tensor first, Tensor target) {
    Tensor second = first.neg();
    // guide: options
    DataParallelOptions options =
        DataParallelOptions.defaults().withFindUnusedParameters(true).withBucketBytes(10 << 20);
    // guide: end
    try (ProcessGroup group = ProcessGroup.join();
        DistributedDataParallel model = DistributedDataParallel.wrap(net, group, options)) {
      // guide: nosync
      try (var accumulating = model.noSync()) {
        model.backward(mse_loss(net.forward(first), target));
      }
      model.backward(mse_loss(net.forward(second), target)); // averages both
      // guide: end
    }
  }
}
