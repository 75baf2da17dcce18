// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.distributed.averaging.AsynchronousExchange;
import io.torchfeed.distributed.averaging.DecentralizedExchange;
import io.torchfeed.distributed.averaging.FlatTensors;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests with threads as ranks. The expected numbers follow from the rules of Bagua's algorithms.
 */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ModelAveragingTest {
  private static void nothing() {}

  @ParameterizedTest
  @CsvSource({"ALL", "SHIFT_ONE"})
  void theAverageOfTheWeightsBeforeIsTakenBeforeTheUpdate(String kind) throws Exception {
    AveragingAlgorithm algorithm =
        kind.equals("ALL") ? AveragingAlgorithm.decentralized() : AveragingAlgorithm.shiftOne();
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Weights net = new Weights(group.rank());
            try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm)) {
              assertThat(net.get()).containsExactly(0);
              net.set(group.rank() == 0 ? 1 : 3);
              double gradient = group.rank() == 0 ? 2 : 4;
              model.step(
                  () -> assertThat(net.get()[0]).isEqualTo(group.rank() == 0 ? 1 : 3),
                  () -> net.add(0, -0.1 * gradient));
              assertThat(net.get()[0]).isCloseTo(group.rank() == 0 ? 1.8f : 1.6f, within(1e-6f));
              model.average();
              assertThat(net.get()[0]).isCloseTo(1.7f, within(1e-6f));
              assertThat(model.exchanges()).isEqualTo(1);
            }
          }
        });
  }

  @Test
  void aLossThatIsNoSingleNumberIsRefused() throws Exception {
    RankThreads.run(
        1,
        group -> {
          try (PointerScope scope = new PointerScope();
              ModelAveraging model =
                  ModelAveraging.wrap(new Weights(0), group, AveragingAlgorithm.decentralized())) {
            assertThatIllegalArgumentException()
                .isThrownBy(() -> model.accumulate(() -> torch.ones(2)))
                .withMessage(
                    "loss must be a single number with a gradient, got one of shape [2] without a"
                        + " gradient");
          }
        });
  }

  @Test
  void peersOfEachExchangeAreThoseOfBagua() {
    int[][][] expected = {
      {{1, 0}, {1, 0}},
      {{2, 3, 0, 1}, {3, 2, 1, 0}, {2, 3, 0, 1}},
      {{3, 4, 5, 0, 1, 2}, {4, 5, 3, 2, 0, 1}, {5, 3, 4, 1, 2, 0}, {3, 4, 5, 0, 1, 2}}
    };
    for (int[][] exchanges : expected) {
      for (int i = 0; i < exchanges.length; i++) {
        int exchange = i;
        int ranks = exchanges[i].length;
        assertThat(
                IntStream.range(0, ranks)
                    .map(rank -> DecentralizedExchange.peer(rank, ranks, exchange)))
            .containsExactly(IntStream.of(exchanges[i]).boxed().toArray(Integer[]::new));
      }
    }
  }

  @Test
  void aPeerIsAnotherOneInEachExchange() throws Exception {
    RankThreads.run(
        4,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Weights net = new Weights(0);
            AveragingAlgorithm algorithm = AveragingAlgorithm.shiftOne().withInterval(2);
            try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm)) {
              net.set(group.rank());
              for (int step = 0; step < 4; step++) {
                model.step(ModelAveragingTest::nothing, ModelAveragingTest::nothing);
              }
              // (0 + 2) / 2 and (1 + 3) / 2, then the means of these
              assertThat(net.get()).containsExactly(1.5f);
              assertThat(model.exchanges()).isEqualTo(2);
            }
          }
        });
  }

  @Test
  void lowPrecisionMixesNeighbours() throws Exception {
    float[][] expected = {
      {0.93333f, 1.93333f, 2.96667f},
      {0.96667f, 1.96667f, 2.96667f},
      {0.96667f, 1.93333f, 2.93333f},
      {0.93333f, 1.96667f, 2.93333f}
    };
    RankThreads.run(
        4,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Weights net = new Weights(1, 2, 3);
            int rank = group.rank();
            try (ModelAveraging model =
                ModelAveraging.wrap(
                    Weights.frozen(net), group, AveragingAlgorithm.lowPrecision())) {
              model.step(
                  ModelAveragingTest::nothing,
                  () -> {
                    for (int axis = 0; axis < 3; axis++) {
                      net.add(axis, rank == 3 || rank == axis ? -0.1 : 0);
                    }
                  });
              float[] local = {1, 2, 3};
              for (int axis = 0; axis < 3; axis++) {
                local[axis] -= rank == 3 || rank == axis ? 0.1f : 0;
              }
              assertThat(net.get()).containsExactly(local, within(2e-6f));
              model.step(ModelAveragingTest::nothing, ModelAveragingTest::nothing);
              assertThat(net.get()).containsExactly(expected[rank], within(1e-5f));
              model.average();
              float[] mean = net.get();
              model.step(ModelAveragingTest::nothing, ModelAveragingTest::nothing);
              assertThat(net.get()).containsExactly(mean, within(1e-6f));
            }
          }
        });
  }

  @Test
  void asynchronousAveragingKeepsWhatTrainingHasChanged() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Weights net = new Weights(group.rank() == 0 ? 1 : 3);
            Tensor[] weights = {net.first.detach()};
            try (FlatTensors flat = new FlatTensors(weights);
                var exchange = new AsynchronousExchange(group, weights, flat, Duration.ZERO, 0)) {
              exchange.copy();
              net.set(group.rank() == 0 ? 0.9f : 2.8f);
              group.allReduce(exchange.sum(), ReduceOp.SUM);
              exchange.apply(exchange.sum());
              assertThat(net.get()[0]).isCloseTo(group.rank() == 0 ? 1.9f : 1.8f, within(1e-6f));
            }
          }
        });
  }

  @Test
  void ranksMayRunDifferentNumbersOfStepsAsynchronously() throws Exception {
    RankThreads.run(
        3,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Weights net = new Weights(0, 0);
            AveragingAlgorithm algorithm =
                AveragingAlgorithm.asynchronous(Duration.ofMillis(1)).withWarmup(2);
            try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm)) {
              for (int round = 0; round < 2; round++) {
                int steps = 2 + 30 * group.rank();
                for (int step = 0; step < steps || model.exchanges() <= 5L * round; step++) {
                  model.step(ModelAveragingTest::nothing, () -> net.add(0, 1));
                }
                model.average();
              }
              String[] all = group.allGatherStrings(Float.toHexString(net.get()[0]));
              assertThat(all[1]).isEqualTo(all[0]);
              assertThat(all[2]).isEqualTo(all[0]);
              assertThat(net.get()[0]).isGreaterThanOrEqualTo((2 + 32 + 62) * 2 / 3f - 0.01f);
              assertThat(net.get()[1]).isZero();
            }
          }
        });
  }

  @Test
  void averagingWaitsForOtherRanksNoLongerThanTheTimeout() throws Exception {
    CyclicBarrier over = new CyclicBarrier(2);
    RankThreads.run(
        2,
        Duration.ofSeconds(2),
        group -> {
          try (PointerScope scope = new PointerScope();
              ModelAveraging model =
                  ModelAveraging.wrap(
                      new Weights(1), group, AveragingAlgorithm.asynchronous(Duration.ZERO))) {
            model.step(ModelAveragingTest::nothing, ModelAveragingTest::nothing);
            if (group.rank() == 0) {
              assertThatThrownBy(model::average).isInstanceOf(PeerLostException.class);
            }
            over.await();
          }
        });
  }

  @Test
  void aRankWithoutStepsTakesPartInAnAverage() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Weights net = new Weights(1);
            try (ModelAveraging model =
                ModelAveraging.wrap(net, group, AveragingAlgorithm.asynchronous(Duration.ZERO))) {
              if (group.rank() == 1) {
                model.step(ModelAveragingTest::nothing, () -> net.add(0, 2));
              }
              model.average();
              model.verifyReplicas();
              assertThat(net.get()[0]).isBetween(1.5f, 2.5f);
              group.abort();
              assertThatIllegalStateException()
                  .isThrownBy(
                      () -> model.step(ModelAveragingTest::nothing, ModelAveragingTest::nothing));
            }
          }
        });
  }

  @Test
  void postLocalStepsAverageGradientsFirstAndWeightsLater() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Weights net = new Weights(0);
            try (ModelAveraging model =
                ModelAveraging.wrap(net, group, AveragingAlgorithm.postLocal(2, 2))) {
              float[] after = new float[6];
              for (int step = 0; step < after.length; step++) {
                model.step(
                    () -> {
                      net.zero_grad(true);
                      net.first.mul(new Scalar(1f + 2 * group.rank())).sum().backward();
                    },
                    () -> net.add(0, -net.first.grad().item_float()));
                after[step] = net.get()[0];
              }
              // 1 and 3 are averaged to 2 twice; then weights are, after steps 2 and 4
              float[] expected =
                  group.rank() == 0
                      ? new float[] {-2, -4, -6, -7, -10, -11}
                      : new float[] {-2, -4, -6, -9, -10, -13};
              assertThat(after).isEqualTo(expected);
            }
          }
        });
  }

  @Test
  void oneRankTrainsAlone() throws Exception {
    RankThreads.run(
        1,
        group -> {
          for (AveragingAlgorithm algorithm :
              new AveragingAlgorithm[] {
                AveragingAlgorithm.decentralized(),
                AveragingAlgorithm.shiftOne(),
                AveragingAlgorithm.lowPrecision(),
                AveragingAlgorithm.asynchronous(Duration.ZERO),
                AveragingAlgorithm.postLocal(1, 1)
              }) {
            try (PointerScope scope = new PointerScope()) {
              Weights net = new Weights(1);
              try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm)) {
                for (int step = 0; step < 3; step++) {
                  model.step(ModelAveragingTest::nothing, () -> net.add(0, 1));
                }
                model.average();
              }
              assertThat(net.get()).containsExactly(4);
            }
          }
        });
  }
}
