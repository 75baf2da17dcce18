// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.sampler.order.ShuffledSampler;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Trains one net on two ranks, which average their gradients after every fourth batch. */
final class DdpWithAccumulation {
  private static final int BATCHES_PER_STEP = 4;

  public static void main(String[] args) throws InterruptedException {
    if (System.getenv("RANK") == null) { // this process starts the ranks, which run this program
      Launcher.builder().ranks(2).mainClass(DdpWithAccumulation.class).build().run();
      return;
    }
    torch.manual_seed(42);
    Tensor inputs = torch.randn(256, 4);
    LinearImpl net = new LinearImpl(4, 1);
    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
    try (var group = ProcessGroup.join();
        var model = DistributedDataParallel.wrap(net, group);
        var data = TensorDataset.of(inputs, inputs.sum(1).unsqueeze(1));
        var loader =
            DataLoader.over(data)
                .sampler(ShuffledSampler.of(data.size(), group.part(), 42)) // this rank's half
                .batchSize(8)
                .build()) {
      for (int epoch = 0; epoch < 5; epoch++) {
        double sum = 0;
        for (Batch batch : loader.epoch(epoch)) {
          try (var scope = new PointerScope()) {
            Tensor loss = torch.mse_loss(net.forward(batch.tensor(0)), batch.tensor(1));
            Tensor share = loss.div(new Scalar(BATCHES_PER_STEP));
            if ((batch.number() + 1) % BATCHES_PER_STEP != 0) {
              model.accumulate(() -> share); // adds to the gradients of this rank
            } else {
              model.step(() -> share, optimizer::step); // averages the sums over the ranks
              optimizer.zero_grad();
            }
            sum += loss.item_float();
          }
        }
        System.out.println("epoch %d loss %.4f".formatted(epoch, sum / loader.batches()));
      }
      System.out.println("weights " + model.verifyReplicas()); // throws if the ranks' nets differ
    }
  }
}
