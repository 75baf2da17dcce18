// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.elastic.ElasticRanks;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.training.TrainingLoop;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.global.torch;

/** Trains on two or three ranks: one of three dies in step 12, and the others continue. */
final class LoseARank {
  public static void main(String[] args) throws InterruptedException {
    if (args.length == 0) { // this process starts the ranks, which run this program
      var builder = Launcher.builder().elasticRanks(2, 3).maxRestarts(0);
      builder.events(event -> System.out.println("coordinator: " + event.text()));
      builder.mainClass(LoseARank.class).arguments("rank").build().run();
      return;
    }
    torch.manual_seed(42);
    var inputs = torch.randn(240, 4);
    LinearImpl net = new LinearImpl(4, 1);
    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
    try (var data = TensorDataset.of(inputs, inputs.sum(1).unsqueeze(1));
        var job = Membership.fromEnvironment()) {
      TrainingLoop.over(ElasticRanks.of(job), group -> DistributedDataParallel.wrap(net, group))
          .state(all -> all.module("model", net).optimizer("optimizer", optimizer, net))
          .loader(
              part ->
                  DataLoader.over(data)
                      .sampler(ShuffledSampler.of(data.size(), part, 42))
                      .batchSize(24 / part.worldSize())
                      .build())
          .epochs(5) // of ten steps
          .afterStep(
              (model, step) -> {
                if (step.number() == 49) {
                  System.out.println(step.worldSize() + " ranks have completed step 50");
                }
              })
          .build()
          .run(
              (step, model, batch) -> {
                if (step.number() == 12 && step.rank() == 2) {
                  System.out.println("rank 2 dies in step 12");
                  Runtime.getRuntime().halt(1);
                }
                return torch.mse_loss(net.forward(batch.tensor(0)), batch.tensor(1));
              },
              optimizer::step);
    }
  }
}
