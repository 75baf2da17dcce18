// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of averaging between nodes, with threads as ranks. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ModelAveragingNodesTest {
  private enum Kind {
    ALL,
    SHIFT_ONE,
    LOW_PRECISION;

    AveragingAlgorithm algorithm() {
      return switch (this) {
        case ALL -> AveragingAlgorithm.decentralized();
        case SHIFT_ONE -> AveragingAlgorithm.shiftOne();
        case LOW_PRECISION -> AveragingAlgorithm.lowPrecision();
      };
    }
  }

  private static final class Numbers extends Module {
    private final Tensor values;

    Numbers(float... values) {
      this.values = register_parameter("values", Tensor.create(values, values.length));
    }

    float[] get() {
      float[] copy = new float[(int) values.numel()];
      values.data_ptr_float().get(copy);
      return copy;
    }

    void set(float... numbers) {
      values.data_ptr_float().put(numbers);
    }
  }

  private static void nothing() {}

  @ParameterizedTest
  @EnumSource(names = {"ALL", "SHIFT_ONE"})
  void weightsAreAveragedWithinANodeAndThenBetweenNodes(Kind kind) throws Exception {
    RankThreads.run(
        8,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Numbers net = new Numbers(0);
            AveragingAlgorithm algorithm = kind.algorithm().withRanksPerNode(2);
            try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm)) {
              net.set(group.rank());
              model.step(
                  () -> assertThat(net.get()).containsExactly(group.rank()),
                  ModelAveragingNodesTest::nothing);
              // Nodes have 0.5, 2.5, 4.5 and 6.5; the first peers are 0 and 2, 1 and 3.
              float peers = group.rank() / 2 % 2 == 0 ? 2.5f : 4.5f;
              assertThat(net.get()).containsExactly(kind == Kind.ALL ? 3.5f : peers);
              model.step(ModelAveragingNodesTest::nothing, ModelAveragingNodesTest::nothing);
              assertThat(net.get()).containsExactly(3.5f);
              assertThat(model.exchanges()).isEqualTo(2);
            }
          }
        });
  }

  /**
   * With equal ranks in each node, the weights equal a group's of as many ranks as there are nodes.
   */
  @Test
  void lowPrecisionMixesNeighbouringNodes() throws Exception {
    float[][] ofNodes = new float[4][];
    RankThreads.run(
        4, group -> ofNodes[group.rank()] = mixed(group, Kind.LOW_PRECISION.algorithm()));
    RankThreads.run(
        8,
        group ->
            assertThat(mixed(group, Kind.LOW_PRECISION.algorithm().withRanksPerNode(2)))
                .containsExactly(ofNodes[group.rank() / 2]));
  }

  private static float[] mixed(ProcessGroup group, AveragingAlgorithm algorithm) {
    try (PointerScope scope = new PointerScope()) {
      Numbers net = new Numbers(1, 2, 3);
      int node = group.size() == 8 ? group.rank() / 2 : group.rank();
      try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm)) {
        for (int step = 0; step < 3; step++) {
          model.step(
              ModelAveragingNodesTest::nothing,
              () -> {
                float[] values = net.get();
                values[node % 3] -= 0.1f * (node + 1);
                net.set(values);
              });
        }
        return net.get();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void oneNodeAveragesItsRanks(Kind kind) throws Exception {
    RankThreads.run(
        3,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Numbers net = new Numbers(0);
            AveragingAlgorithm algorithm = kind.algorithm().withRanksPerNode(3);
            try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm)) {
              net.set(group.rank());
              model.step(ModelAveragingNodesTest::nothing, ModelAveragingNodesTest::nothing);
              assertThat(net.get()[0]).isCloseTo(1, within(1e-6f));
            }
          }
        });
  }

  @ParameterizedTest
  @EnumSource
  void aRankThatFailsEndsTheStepOfAllOthers(Kind kind) throws Exception {
    RankThreads.run(
        4,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Numbers net = new Numbers(0);
            AveragingAlgorithm algorithm = kind.algorithm().withRanksPerNode(2);
            try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm)) {
              model.step(ModelAveragingNodesTest::nothing, ModelAveragingNodesTest::nothing);
              Runnable pass =
                  () -> {
                    if (group.rank() == 3) {
                      throw new UnsupportedOperationException("a user's error");
                    }
                  };
              Class<? extends Exception> expected =
                  group.rank() == 3 ? UnsupportedOperationException.class : PeerLostException.class;
              assertThatThrownBy(
                      () -> {
                        model.step(pass, ModelAveragingNodesTest::nothing);
                        model.step(ModelAveragingNodesTest::nothing, pass);
                      })
                  .isInstanceOf(expected);
            }
          }
        });
  }

  @ParameterizedTest
  @EnumSource
  void abortOfTheGroupWakesAStep(Kind kind) throws Exception {
    CountDownLatch aborted = new CountDownLatch(1);
    RankThreads.run(
        4,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Numbers net = new Numbers(0);
            AveragingAlgorithm algorithm = kind.algorithm().withRanksPerNode(2);
            try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm)) {
              if (group.rank() == 0) {
                aborted.await();
                return;
              }
              if (group.rank() == 1) {
                Thread aborting = new Thread(group::abort);
                aborting.start();
                assertThatIllegalStateException()
                    .isThrownBy(
                        () ->
                            model.step(
                                ModelAveragingNodesTest::nothing, ModelAveragingNodesTest::nothing))
                    .withMessageContaining("aborted");
                aborting.join();
                aborted.countDown();
              }
            }
          }
        });
  }

  @Test
  void numbersThatDoNotFitAreRefused() throws Exception {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> AveragingAlgorithm.decentralized().withRanksPerNode(0))
        .withMessage("ranksPerNode must be at least 1, got 0");
    assertThatIllegalStateException()
        .isThrownBy(() -> AveragingAlgorithm.asynchronous(Duration.ZERO).withRanksPerNode(2))
        .withMessage("asynchronous, every PT0S after 0 steps has no form between nodes");
    assertThatIllegalStateException()
        .isThrownBy(() -> AveragingAlgorithm.postLocal(0, 1).withRanksPerNode(2));
    RankThreads.run(
        3,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Numbers net = new Numbers(0);
            assertThatIllegalArgumentException()
                .isThrownBy(
                    () ->
                        ModelAveraging.wrap(
                            net, group, AveragingAlgorithm.decentralized().withRanksPerNode(2)))
                .withMessage("ranksPerNode must divide the number of ranks, 3, got 2");
            assertThatIllegalArgumentException()
                .isThrownBy(() -> ModelAveraging.wrap(net, group, AveragingAlgorithm.shiftOne()))
                .withMessageContaining("needs an even number of ranks, got 3");
          }
        });
  }
}
