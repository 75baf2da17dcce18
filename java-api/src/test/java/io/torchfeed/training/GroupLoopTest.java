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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
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

  @Test
  void allRanksStopAfterTheSameStepIfOneAsksForIt() throws Exception {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      requirePlannedStops(indices(data), 0, 3, 4, 7);
    }
    requirePlannedStops(uneven(), 9);
  }

  /** The last checkpoint is damaged for one rank alone. */
  @Test
  void allRanksContinueFromACheckpointThatEachCanRead() throws Exception {
    Path folder = temporary.resolve("damaged");
    List<LoopEvent> events = Collections.synchronizedList(new ArrayList<>());
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      RankThreads.Body body =
          group -> {
            try (PointerScope inside = new PointerScope();
                LoopNet own = new LoopNet(0);
                var model = DistributedDataParallel.wrap(own, group)) {
              var loop = TrainingLoop.of(Ranks.of(group), model).events(events::add);
              assertThat(train(loop, own, data, 1, folder)).isEqualTo(5);
            }
          };
      RankThreads.run(2, body);
      Files.write(
          folder.resolve("step-000005/replica.rank-00002-of-00002.safetensors"), new byte[1]);
      RankThreads.run(2, body);
    }
    assertThat(events)
        .extracting(LoopEvent::text)
        .filteredOn(text -> text.startsWith("continues after 4 steps, from " + folder))
        .hasSize(2);
    assertThat(events)
        .filteredOn(event -> event.kind() == LoopEvent.Kind.SKIPPED)
        .singleElement()
        .asString()
        .contains("step-000005", "it must have ");
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
   * A process alone trains an epoch, and a group the next one; not if a rank has another folder,
   * which all ranks say at the start rather than wait at the first checkpoint.
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
                      "the ranks have different folders of checkpoints: rank 0 has %s, rank 1 has %s"
                              .formatted(folder, temporary.resolve("empty"))
                          + " and finds nothing there that rank 0 writes; all ranks must reach the"
                          + " same folder");
              if (group.rank() == 0) { // which writes the next one
                try (Stream<Path> left = Files.list(folder)) {
                  assertThat(left.map(path -> path.getFileName().toString()))
                      .noneMatch(name -> name.startsWith(".ranks"));
                }
              }
              assertThat(train(TrainingLoop.of(Ranks.of(group), model), own, data, 2, folder))
                  .isEqualTo(10);
            }
          });
    }
  }
}
