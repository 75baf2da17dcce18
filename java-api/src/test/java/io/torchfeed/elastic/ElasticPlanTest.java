// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.elastic.ElasticThreads.Rank;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.training.TrainingLoop.Outcome;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of ranks whose plans differ; threads are ranks. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticPlanTest {
  /** A rank that joins another one, which trains, fails with a message, and the other continues. */
  private static void assertJoinerFails(Consumer<Rank> change, String message) throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 2, Duration.ZERO)) {
      Rank a = threads.new Rank("a");
      Rank b = threads.new Rank("b");
      change.accept(b);
      List<Future<Outcome>> both = threads.joinLater(a, b, 3);
      assertThatThrownBy(both.get(1)::get)
          .cause()
          .isInstanceOf(IllegalStateException.class)
          .hasMessage(message);
      assertThat(both.get(0).get()).isEqualTo(Outcome.COMPLETED);
      threads.log().assertEachSampleOnce(1);
    }
  }

  private static DataLoader loader(TensorDataset data, Part part, long seed, int globalBatch) {
    return DataLoader.over(data)
        .sampler(ShuffledSampler.of(ElasticNet.SAMPLES, part, seed))
        .batchSize(globalBatch / part.worldSize())
        .build();
  }

  @Test
  void aRankWithAnotherSeedOfItsSamplerFailsAndTheOthersContinue() throws Exception {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = ElasticNet.data()) {
      assertJoinerFails(
          rank -> rank.loader = (all, part) -> loader(data, part, 43, ElasticNet.GLOBAL_BATCH),
          "the ranks' plans differ in seed: rank 0 has 42, rank 1 has 43");
    }
  }

  @Test
  void aRankWithAnotherBatchSizeFailsAndTheOthersContinue() throws Exception {
    int batch = ElasticNet.GLOBAL_BATCH;
    try (PointerScope scope = new PointerScope();
        TensorDataset data = ElasticNet.data()) {
      assertJoinerFails(
          rank -> rank.loader = (all, part) -> loader(data, part, 42, 2 * batch),
          "the ranks' plans differ in batchSize: rank 0 has %d, rank 1 has %d"
              .formatted(batch / 2, batch));
    }
  }

  @Test
  void aRankWithOtherEpochsFailsAndTheOthersContinue() throws Exception {
    assertJoinerFails(
        rank -> rank.options = builder -> builder.epochs(7),
        "the options of the ranks differ in epochs: rank 0 has 1, rank 1 has 7");
  }

  @Test
  void aRankThatIgnoresItsPartFailsAndTheOthersContinue() throws Exception {
    assertJoinerFails(
        rank -> rank.loader = (data, part) -> ElasticNet.loader(data, Part.whole()),
        "the ranks' plans differ in worldSize: rank 0 has 2, rank 1 has 1");
  }
}
