// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.amp.GradScaler;
import io.torchfeed.amp.TrainingOptimizer;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of {@link QAdam} with losses that a {@link GradScaler} multiplies. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class QAdamScalingTest {
  private static final int SIZE = 6;
  private static final int STEPS = 8;

  /** A gradient that is finite, but not its product with any scale of the tests. */
  private static final double HUGE = 3e38;

  private static final QAdam.Options OPTIONS =
      QAdam.Options.defaults().withLearningRate(0.05).withWarmupSteps(3);

  private static final class Vector extends Module {
    private final Tensor values = register_parameter("values", floats(1, -1, 2, -2, 0.5, 3));

    private static Tensor floats(double... values) {
      float[] all = new float[values.length];
      for (int i = 0; i < all.length; i++) {
        all[i] = (float) values[i];
      }
      return Tensor.create(all, all.length);
    }

    /** A loss with known gradients; the first one may be huge. */
    Tensor loss(int rank, int step, boolean isHuge) {
      double[] gradient = new double[SIZE];
      Arrays.setAll(gradient, i -> Math.sin(7 * i + 3 * rank + step) + 0.1);
      gradient[0] = isHuge ? HUGE : gradient[0];
      return values.mul(floats(gradient)).sum();
    }

    List<Float> get() {
      List<Float> copy = new ArrayList<>();
      for (int i = 0; i < SIZE; i++) {
        copy.add(values.data_ptr_float().get(i));
      }
      return copy;
    }
  }

  /** A rank in training: model, optimizer and scaler. */
  private static final class Run implements AutoCloseable {
    private final Vector net = new Vector();
    private final ProcessGroup group;
    private final DistributedDataParallel model;
    private final QAdam optimizer;
    private final GradScaler scaler;

    Run(ProcessGroup group, GradScaler.Options scale) {
      this.group = group;
      model =
          DistributedDataParallel.wrap(
              net, group, DataParallelOptions.defaults().withExchange(OPTIONS.exchange()));
      optimizer = QAdam.of(model, OPTIONS);
      scaler = GradScaler.create(scale);
    }

    /** Returns whether the step was made. */
    boolean step(int step, boolean isHuge) {
      try (PointerScope scope = new PointerScope()) {
        optimizer.zeroGrad();
        model.backward(
            scaler.scale(net.loss(group.rank(), step, isHuge && group.rank() == group.size() - 1)));
        boolean stepped = scaler.step(optimizer);
        scaler.update();
        return stepped;
      }
    }

    void unscaledStep(int step) {
      try (PointerScope scope = new PointerScope()) {
        optimizer.zeroGrad();
        model.backward(net.loss(group.rank(), step, false));
        optimizer.step();
      }
    }

    void copyTo(Run other) {
      try (PointerScope scope = new PointerScope();
          StateDict wrapper = model.stateDict();
          StateDict adam = optimizer.stateDict();
          StateDict scale = scaler.stateDict()) {
        other.net.values.detach().copy_(net.values.detach());
        other.model.loadStateDict(wrapper);
        other.optimizer.loadStateDict(adam);
        other.scaler.loadStateDict(scale);
      }
    }

    @Override
    public void close() {
      scaler.close();
      optimizer.close();
      model.close();
    }
  }

  private static GradScaler.Options scale(double initial) {
    return GradScaler.Options.defaults().withInitialScale(initial).withGrowthInterval(2);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void scaledLossesLeadToTheStepsOfPlainOnes(int ranks) throws Exception {
    RankThreads.run(
        ranks,
        group -> {
          try (PointerScope scope = new PointerScope();
              Run plain = new Run(group, scale(1));
              Run scaled = new Run(group, scale(1024))) {
            for (int step = 0; step < STEPS; step++) {
              plain.unscaledStep(step);
              assertThat(scaled.step(step, false)).isTrue();
              for (int i = 0; i < SIZE; i++) {
                assertThat(scaled.net.get().get(i))
                    .as("weight %d after step %d", i, step)
                    .isCloseTo(plain.net.get().get(i), within(1e-4f));
              }
            }
            assertThat(scaled.scaler.state().scale()).isEqualTo(1024 * 16);
          }
        });
  }

  @ParameterizedTest
  @CsvSource({"1, 0", "1, 2", "1, 6", "2, 0", "2, 2", "2, 6"})
  void aStepWhoseGradientsOverflowIsSkippedAndTheStateStays(int ranks, int when) throws Exception {
    RankThreads.run(
        ranks,
        group -> {
          try (PointerScope scope = new PointerScope();
              Run run = new Run(group, scale(1024));
              Run other = new Run(group, scale(1024))) {
            for (int step = 0; step < when; step++) {
              run.step(step, false);
              other.step(step, false);
            }
            List<Float> before = run.net.get();
            double scale = run.scaler.state().scale();
            assertThat(run.step(when, true)).isFalse();
            assertThat(run.net.get()).isEqualTo(before);
            assertThat(run.optimizer.steps()).isEqualTo(when);
            assertThat(run.scaler.state().scale()).isEqualTo(scale / 2);
            try (StateDict skipped = run.optimizer.stateDict();
                StateDict kept = other.optimizer.stateDict();
                StateDict moments = run.model.stateDict();
                StateDict expected = other.model.stateDict()) {
              skipped
                  .tensors()
                  .forEach(
                      (name, tensor) ->
                          assertThat(tensor.equal(kept.tensors().get(name))).as(name).isTrue());
              Tensor moment = moments.tensors().get("exchange.momentum.values");
              assertThat(moment == null).isEqualTo(ranks == 1 || when == 0);
              if (moment != null) { // in the unit of the scale, which is halved
                Tensor doubled = moment.add(moment);
                assertThat(doubled.equal(expected.tensors().get("exchange.momentum.values")))
                    .isTrue();
              }
            }
            for (int step = when; step < STEPS; step++) {
              assertThat(run.step(step, false)).isTrue();
            }
            assertThat(run.optimizer.steps()).isEqualTo(STEPS);
          }
        });
  }

  @ParameterizedTest
  @CsvSource({"1, 2", "2, 2", "2, 5"})
  void aRestoredRunContinuesBitForBit(int ranks, int when) throws Exception {
    RankThreads.run(
        ranks,
        group -> {
          try (PointerScope scope = new PointerScope();
              Run run = new Run(group, scale(1024));
              Run restored = new Run(group, scale(1024))) {
            for (int step = 0; step < when; step++) {
              run.step(step, false);
            }
            assertThat(run.step(when, true)).isFalse();
            run.copyTo(restored);
            for (int step = when; step < STEPS; step++) {
              boolean isHuge = step == when + 1;
              assertThat(restored.step(step, isHuge)).isEqualTo(run.step(step, isHuge));
              assertThat(restored.net.get()).as("step %d", step).isEqualTo(run.net.get());
            }
            assertThat(restored.scaler.state()).isEqualTo(run.scaler.state());
          }
        });
  }

  @Test
  void aScalerThatIsUsedLaterNeedsItsScaleBefore() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              Run run = new Run(group, scale(256))) {
            run.unscaledStep(0);
            assertThatIllegalStateException()
                .isThrownBy(() -> run.step(1, false))
                .withMessageContaining("multiplied by 1.0, but this one by 256.0");
          }
          try (PointerScope scope = new PointerScope();
              Run run = new Run(group, scale(256))) {
            run.unscaledStep(0);
            run.optimizer.setLossScale(256);
            assertThat(run.step(1, false)).isTrue();
            run.optimizer.setLossScale(1);
            run.unscaledStep(2);
            assertThatIllegalArgumentException()
                .isThrownBy(() -> run.optimizer.setLossScale(0))
                .withMessageContaining("above 0, got 0.0");
          }
        });
  }

  @Test
  void aScaleThatFallsToZeroSkipsAllSteps() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              Run run = new Run(group, scale(Float.MIN_VALUE))) {
            for (int step = 0; step < 3; step++) {
              run.model.backward(run.scaler.scale(run.net.values.sum().div(new Scalar(0f))));
              assertThat(run.scaler.step(run.optimizer)).isFalse();
              run.scaler.update();
              assertThat(run.scaler.state().scale()).isZero();
            }
            assertThat(run.optimizer.steps()).isZero();
          }
        });
  }

  @Test
  void optimizersOfLibtorchHaveTheSameForm() {
    try (PointerScope scope = new PointerScope();
        GradScaler scaler = GradScaler.create(scale(4))) {
      Vector net = new Vector();
      TrainingOptimizer optimizer =
          TrainingOptimizer.of(new SGD(net.parameters(), new SGDOptions(0.5)));
      List<Float> before = net.get();
      scaler.scale(net.loss(0, 0, true)).backward();
      assertThat(scaler.step(optimizer)).isFalse();
      scaler.update();
      assertThat(net.get()).isEqualTo(before);
      optimizer.zeroGrad();
      net.values.mul(Vector.floats(1, 0, 0, 0, 0, 0)).sum().backward();
      optimizer.step();
      assertThat(net.get().get(0)).isEqualTo(before.get(0) - 0.5f);
      assertThat(optimizer.parameters().size()).isEqualTo(1);
      optimizer.close();
    }
  }
}
