// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import io.torchfeed.elastic.ElasticThreads.Meeting;
import io.torchfeed.elastic.ElasticThreads.Rank;
import io.torchfeed.elastic.ElasticThreads.UserException;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.NumberedStream;
import io.torchfeed.training.TrainingLoop.Outcome;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of the elastic loop over streams, whose ranks have different numbers of batches; threads
 * are ranks.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticStreamTest {
  private static final int EPOCHS = 2;

  /** No batch of four has a single row, which batch normalization refuses. */
  private static final NumberedStream STREAM = new NumberedStream(List.of(30, 20, 26, 7, 14));

  private static DataLoader loader(TensorDataset unused, Part part) {
    return DataLoader.over(STREAM).part(part).batchSize(4).build();
  }

  private static Rank rank(ElasticThreads threads, String name, int accumulate) {
    Rank rank = threads.new Rank(name);
    rank.loader = ElasticStreamTest::loader;
    rank.options = builder -> builder.epochs(EPOCHS).accumulate(accumulate);
    return rank;
  }

  /** Shards of a rank that is lost continue on others, each where the last step has left it. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void aLostRankTakesNoSampleWithIt(int accumulate) throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 3)) {
      Rank a = rank(threads, "a", accumulate);
      Rank b = rank(threads, "b", accumulate);
      Rank c = rank(threads, "c", accumulate);
      long lostAt = 3 / accumulate;
      Meeting lost = new Meeting(lostAt, 2);
      a.before = step -> lost.in(step, "a");
      b.before = step -> lost.in(step, "b");
      c.before =
          step -> {
            if (step == lostAt) {
              lost.await();
              throw new UserException();
            }
          };
      List<Future<Outcome>> ends = List.of(a.start(), b.start());
      assertThatThrownBy(c.start()::get).hasCauseInstanceOf(UserException.class);
      for (Future<Outcome> each : ends) {
        assertThat(each.get()).isEqualTo(Outcome.COMPLETED);
      }
      assertThat(a.digest).isEqualTo(b.digest);
      ElasticLog log = threads.log();
      log.assertEachOnce(EPOCHS, STREAM.samples());
      assertThat(log.generation(2).step()).isEqualTo(lostAt);
      assertThat(log.generation(2).names()).containsExactlyInAnyOrder("a", "b");
    }
  }

  @Test
  void aRankThatComesTakesShardsWhereTheyAre() throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 2, Duration.ZERO)) {
      Rank a = rank(threads, "a", 1);
      Rank b = rank(threads, "b", 1);
      for (Future<Outcome> each : threads.joinLater(a, b, 3)) {
        assertThat(each.get()).isEqualTo(Outcome.COMPLETED);
      }
      assertThat(a.digest).isEqualTo(b.digest);
      ElasticLog log = threads.log();
      log.assertEachOnce(EPOCHS, STREAM.samples());
      assertThat(log.generation(2).step()).isEqualTo(4);
      assertThat(log.generation(2).names()).containsExactly("a", "b");
    }
  }

  @Test
  void othersContinueFromACheckpointWhereEachShardWas(@TempDir Path folder) throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 2, Duration.ZERO);
        Checkpoints ofA = Checkpoints.open(folder);
        Checkpoints ofB = Checkpoints.open(folder)) {
      Rank a = rank(threads, "a", 1);
      Rank b = rank(threads, "b", 1);
      a.options = builder -> builder.epochs(EPOCHS).checkpoints(ofA, 2);
      b.options = builder -> builder.epochs(EPOCHS).checkpoints(ofB, 2);
      a.before =
          step -> {
            if (step == 7) {
              throw new UserException();
            }
          };
      assertThatThrownBy(a.start()::get).hasCauseInstanceOf(UserException.class);
      threads.await(Kind.LOST);
      assertThat(b.start().get()).isEqualTo(Outcome.COMPLETED);
      ElasticLog log = threads.log();
      log.assertEachOnce(EPOCHS, STREAM.samples());
      assertThat(log.generation(2).step()).isEqualTo(6);
    }
  }
}
