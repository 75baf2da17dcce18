// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.RankThreads;
import java.nio.file.Path;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GroupLoopTest extends TrainingLoopContract {
  GroupLoopTest(@TempDir Path temporary) {
    super(temporary);
  }

  @Override
  int ranks() {
    return 2;
  }

  @Override
  void onEachRank(Body body) throws Exception {
    RankThreads.run(
        ranks(),
        group ->
            body.run(
                net ->
                    TrainingLoop.over(
                        Ranks.of(group), ranks -> DistributedDataParallel.wrap(net, ranks))));
  }

  private static <M extends ReplicatedModel> long train(
      TrainingLoopBuilder<M> builder, LoopNet net, TensorDataset data, long epochs, Path folder)
      throws InterruptedException {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      TrainingLoop<M> loop =
          builder
              .state(net::addTo)
              .loader(
                  part ->
                      DataLoader.over(data)
                          .sampler(ShuffledSampler.of(LoopNet.SAMPLES, part, 42))
                          .batchSize(LoopNet.GLOBAL_BATCH / part.worldSize())
                          .build())
              .epochs(epochs)
              .checkpoints(checkpoints, 1)
              .build();
      loop.run((step, model, batch) -> net.loss(batch), net.optimizer::step);
      return loop.step();
    }
  }

  /**
   * A process alone trains an epoch, and a group the next one; not if a rank finds no checkpoint.
   */
  @Test
  void aGroupContinuesACheckpointOfAProcessAloneIfAllRanksReachIt() throws Exception {
    Path folder = temporary.resolve("alone");
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data();
        LoopNet net = new LoopNet(0)) {
      assertThat(train(TrainingLoop.alone(net), net, data, 1, folder)).isEqualTo(5);
      RankThreads.run(
          2,
          group -> {
            Path other = group.rank() == 0 ? folder : temporary.resolve("empty");
            try (PointerScope inside = new PointerScope();
                LoopNet own = new LoopNet(0);
                var model = DistributedDataParallel.wrap(own, group)) {
              assertThatIllegalStateException()
                  .isThrownBy(
                      () -> train(TrainingLoop.of(Ranks.of(group), model), own, data, 2, other))
                  .withMessage(
                      "the ranks have loaded different checkpoints: rank 0 one after 5 steps, rank 1"
                          + " one after 0; all ranks must reach the same folder");
              assertThat(train(TrainingLoop.of(Ranks.of(group), model), own, data, 2, folder))
                  .isEqualTo(10);
            }
          });
    }
  }
}
