// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.concurrent.CyclicBarrier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of the refusals of {@link ModelAveraging}, and of ranks and steps that fail. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ModelAveragingFaultTest {
  private static void nothing() {}

  @Test
  void ranksThatDifferAreRefusedOnAllRanks() throws Exception {
    RankThreads.run(
        3,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            boolean isLast = group.rank() == 2;
            assertThatIllegalArgumentException()
                .isThrownBy(
                    () ->
                        ModelAveraging.wrap(
                            new Weights(isLast ? new float[2] : new float[1]),
                            group,
                            AveragingAlgorithm.decentralized()))
                .withMessageContaining("rank 0 decentralized, every 1 steps, over Float[1]")
                .withMessageContaining("rank 2 decentralized, every 1 steps, over Float[2]");
            assertThatIllegalArgumentException()
                .isThrownBy(
                    () ->
                        ModelAveraging.wrap(
                            new Weights(1),
                            group,
                            AveragingAlgorithm.decentralized().withInterval(isLast ? 2 : 1)))
                .withMessageContaining("must train in the same way");
            assertThatIllegalArgumentException()
                .isThrownBy(
                    () -> ModelAveraging.wrap(new Weights(1), group, AveragingAlgorithm.shiftOne()))
                .withMessage(
                    "decentralized with one rank, every 1 steps needs an even number of ranks,"
                        + " got 3");
          }
        });
  }

  @Test
  void argumentsAreChecked() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> AveragingAlgorithm.decentralized().withInterval(0))
        .withMessage("interval must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> AveragingAlgorithm.asynchronous(Duration.ofMillis(-1)));
    assertThatIllegalArgumentException().isThrownBy(() -> AveragingAlgorithm.postLocal(-1, 1));
    assertThatIllegalStateException().isThrownBy(() -> AveragingAlgorithm.shiftOne().withWarmup(1));
    assertThatIllegalStateException()
        .isThrownBy(() -> AveragingAlgorithm.asynchronous(Duration.ZERO).withInterval(2))
        .withMessageContaining("has no interval of steps");
    assertThat(AveragingAlgorithm.postLocal(3, 2)).hasToString("post-local, every 2 steps after 3");
    assertThat(AveragingAlgorithm.asynchronous(Duration.ofSeconds(1)).withWarmup(4))
        .hasToString("asynchronous, every PT1S after 4 steps");
  }

  @Test
  void unsupportedParametersAreRefused() throws Exception {
    RankThreads.run(
        1,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Weights doubles = new Weights(1);
            doubles.to(ScalarType.Double, false);
            assertThatIllegalArgumentException()
                .isThrownBy(
                    () -> ModelAveraging.wrap(doubles, group, AveragingAlgorithm.lowPrecision()))
                .withMessageContaining("needs float32 parameters, got Double");
            Weights none = Weights.frozen(new Weights(1));
            none.first.set_requires_grad(false);
            assertThatIllegalArgumentException()
                .isThrownBy(
                    () -> ModelAveraging.wrap(none, group, AveragingAlgorithm.decentralized()))
                .withMessageContaining("at least one parameter must require a gradient");
          }
        });
  }

  @Test
  void aFailedStepLeavesTheTrainingUnusable() throws Exception {
    RankThreads.run(
        1,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            ModelAveraging model =
                ModelAveraging.wrap(new Weights(1), group, AveragingAlgorithm.decentralized());
            assertThatThrownBy(
                    () ->
                        model.step(
                            () -> {
                              throw new ArithmeticException("no loss");
                            },
                            ModelAveragingFaultTest::nothing))
                .isInstanceOf(ArithmeticException.class);
            assertThatIllegalStateException()
                .isThrownBy(model::average)
                .withMessageContaining("an earlier step failed")
                .withMessageContaining("no loss");
            model.close();
            model.close();
            assertThatIllegalStateException()
                .isThrownBy(
                    () ->
                        model.step(
                            ModelAveragingFaultTest::nothing, ModelAveragingFaultTest::nothing))
                .withMessage("ModelAveraging is closed");
          }
        });
  }

  @ParameterizedTest
  @CsvSource({"ALL", "LOW_PRECISION", "ASYNCHRONOUS", "POST_LOCAL"})
  void aLostRankIsReported(String kind) throws Exception {
    AveragingAlgorithm algorithm =
        switch (kind) {
          case "ALL" -> AveragingAlgorithm.decentralized();
          case "LOW_PRECISION" -> AveragingAlgorithm.lowPrecision();
          case "ASYNCHRONOUS" -> AveragingAlgorithm.asynchronous(Duration.ofMillis(1));
          default -> AveragingAlgorithm.postLocal(1000, 1);
        };
    CyclicBarrier ready = new CyclicBarrier(2);
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              ModelAveraging model = ModelAveraging.wrap(new Weights(1), group, algorithm)) {
            model.step(ModelAveragingFaultTest::nothing, ModelAveragingFaultTest::nothing);
            ready.await();
            if (group.rank() == 1) {
              return; // leaves without a word
            }
            assertThatThrownBy(
                    () -> {
                      while (true) {
                        model.step(
                            ModelAveragingFaultTest::nothing, ModelAveragingFaultTest::nothing);
                      }
                    })
                .isInstanceOf(PeerLostException.class);
          }
        });
  }
}
