// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.elastic.ElasticRanks;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.RankThreads;
import io.torchfeed.training.TrainingLoop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/** An evaluation by elastic ranks in which one of them is lost. */
class ElasticEvaluationTest {
  private static final int SAMPLES = 11;
  private static final int RANKS = 3;

  private static TensorDataset data() {
    Tensor values = torch.arange(new Scalar(2L * SAMPLES)).mul(new Scalar(7.3)).sin();
    return TensorDataset.of(values.view(SAMPLES, 2).to(torch.ScalarType.Float));
  }

  @Test
  void theOtherRanksRunItAgainWithEachSampleOnce() throws Exception {
    Queue<String> ends = new ConcurrentLinkedQueue<>();
    CoordinatorOptions options =
        CoordinatorOptions.of(1, RANKS)
            .withStart(Duration.ofSeconds(60))
            .withSilence(Duration.ofSeconds(60));
    try (Coordinator coordinator = Coordinator.listen("127.0.0.1", 0, options)) {
      RankThreads.run(
          RANKS,
          rank -> Membership.join("127.0.0.1", coordinator.port()),
          membership -> ends.add(train(membership)));
    }
    double all = alone();
    assertThat(ends).containsExactlyInAnyOrder("lost", "2 ranks: " + all, "2 ranks: " + all);
  }

  /** Returns the mean of all values. */
  private static double alone() {
    try (TensorDataset data = data();
        LinearImpl net = new LinearImpl(2, 1)) {
      Mean mean = Mean.create();
      Evaluation.of(net, MetricCollection.of(Map.of("mean", mean)))
          .run(DataLoader.over(data), batch -> mean.update(batch.tensor(0)));
      return mean.compute();
    }
  }

  private static String train(Membership membership) throws InterruptedException {
    Mean mean = Mean.create();
    MetricCollection metrics = MetricCollection.of(Map.of("mean", mean));
    List<String> results = new ArrayList<>();
    ElasticRanks ranks = ElasticRanks.of(membership);
    try (PointerScope scope = new PointerScope();
        TensorDataset data = data();
        LinearImpl net = new LinearImpl(2, 1);
        SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1))) {
      TrainingLoop.over(ranks, group -> DistributedDataParallel.wrap(net, group))
          .state(parts -> parts.module("model", net).part("metrics", metrics.merged()))
          .loader(
              part ->
                  DataLoader.over(data)
                      .sampler(ShuffledSampler.of(SAMPLES, part, 1))
                      .batchSize(2)
                      .build())
          .afterEpoch(
              (model, step) -> {
                Map<String, Double> values =
                    Evaluation.of(net, metrics)
                        .run(
                            ranks.group().orElseThrow(),
                            DataLoader.over(data).batchSize(2),
                            batch -> {
                              mean.update(batch.tensor(0));
                              if (step.worldSize() == RANKS && step.rank() == 2) {
                                throw new IllegalArgumentException("a fault of the program");
                              }
                            });
                results.add(step.worldSize() + " ranks: " + values.get("mean"));
              })
          .build()
          .run((step, model, batch) -> net.forward(batch.tensor(0)).sum(), optimizer::step);
    } catch (IllegalArgumentException e) {
      return "lost";
    }
    return String.join(", ", results);
  }
}
