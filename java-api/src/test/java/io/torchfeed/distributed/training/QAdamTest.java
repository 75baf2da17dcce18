// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class QAdamTest {
  private static final double[][] GRADIENTS = {{1, 3}, {2, 0}, {1, 3}, {4, 0}, {1, 3}, {1, 1}};

  /** A module of one vector, whose gradient a test chooses. */
  private static final class Vector extends Module {
    private final Tensor values;

    Vector(float... values) {
      this.values = register_parameter("values", Tensor.create(values, values.length));
    }

    Tensor loss(float... gradient) {
      return values.mul(Tensor.create(gradient, gradient.length)).sum();
    }

    float[] get() {
      float[] copy = new float[(int) values.numel()];
      values.data_ptr_float().get(copy);
      return copy;
    }
  }

  @Test
  void warmUpTakesTheStepsOfAdamW() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            QAdam.Options options =
                QAdam.Options.defaults()
                    .withLearningRate(0.1)
                    .withEpsilon(1e-3)
                    .withWeightDecay(0.2);
            Vector net = new Vector(1, -2, 3);
            Vector alone = new Vector(1, -2, 3);
            AdamWOptions adam = new AdamWOptions(0.1);
            adam.eps().put(1e-3);
            adam.weight_decay().put(0.2);
            TensorVector parameters = alone.parameters();
            AdamW expected = new AdamW(parameters, adam);
            try (var model = wrap(net, group, options);
                QAdam optimizer = QAdam.of(model, options)) {
              for (double[] gradients : GRADIENTS) {
                float mine = (float) gradients[group.rank()];
                float mean = (float) (gradients[0] + gradients[1]) / 2;
                optimizer.zeroGrad();
                model.backward(net.loss(mine, -mine, mine * mine));
                float square = (float) Arrays.stream(gradients).map(x -> x * x).sum() / 2;
                optimizer.step();
                expected.zero_grad();
                alone.loss(mean, -mean, square).backward();
                expected.step();
                assertThat(net.get()).containsExactly(alone.get(), within(1e-5f));
              }
              assertThat(optimizer.steps()).isEqualTo(GRADIENTS.length);
            }
            expected.close();
          }
        });
  }

  private static DistributedDataParallel wrap(
      Module net, ProcessGroup group, QAdam.Options options) {
    return DistributedDataParallel.wrap(
        net, group, DataParallelOptions.defaults().withExchange(options.exchange()));
  }

  /** Bagua's rule in double precision, without the gradient that it drops and the growing steps. */
  @Test
  void afterTheWarmUpTheFirstMomentsOfAllRanksAreAveraged() throws Exception {
    int warmup = 3;
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            QAdam.Options options =
                QAdam.Options.defaults().withLearningRate(0.1).withWarmupSteps(warmup);
            Vector net = new Vector(0);
            double first = 0;
            double second = 0;
            double x = 0;
            try (var model = wrap(net, group, options);
                QAdam optimizer = QAdam.of(model, options)) {
              for (int k = 1; k <= GRADIENTS.length; k++) {
                int averaged = Math.min(k, warmup);
                double[] gradients = GRADIENTS[k - 1];
                optimizer.zeroGrad();
                model.backward(net.loss((float) gradients[group.rank()]));
                optimizer.step();
                double mean = (gradients[0] + gradients[1]) / 2;
                first = 0.9 * first + 0.1 * mean;
                second = k <= warmup ? 0.999 * second + 0.001 * mean * mean : second;
                double corrected = second / (1 - Math.pow(0.999, averaged));
                x -= 0.1 * first / (1 - Math.pow(0.9, k)) / (Math.sqrt(corrected) + 1e-8);
                assertThat(net.get()[0]).as("step %d", k).isCloseTo((float) x, within(2e-6f));
              }
            }
          }
        });
  }

  @Test
  void oneRankTakesTheSameSteps() throws Exception {
    float[][] results = new float[2][];
    for (int ranks = 1; ranks <= 2; ranks++) {
      RankThreads.run(
          ranks,
          group -> {
            try (PointerScope scope = new PointerScope()) {
              QAdam.Options options =
                  QAdam.Options.defaults().withLearningRate(0.1).withWarmupSteps(2);
              Vector net = new Vector(1);
              try (var model = wrap(net, group, options);
                  QAdam optimizer = QAdam.of(model, options)) {
                for (double[] gradients : GRADIENTS) {
                  optimizer.zeroGrad();
                  model.backward(net.loss((float) gradients[0]));
                  optimizer.step();
                }
              }
              results[group.size() - 1] = net.get();
            }
          });
    }
    assertThat(results[0]).containsExactly(results[1], within(1e-5f));
  }

  @Test
  void stepsAfterTheWarmUpAreNoLongerThanThoseOfAdam() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            QAdam.Options options =
                QAdam.Options.defaults().withLearningRate(0.1).withWarmupSteps(2);
            Vector net = new Vector(1, 1, 1);
            try (var model = wrap(net, group, options);
                QAdam optimizer = QAdam.of(model, options)) {
              float[] before = {};
              for (int step = 1; step <= 20; step++) {
                before = net.get();
                optimizer.zeroGrad();
                boolean isWarmingUp = step <= 2;
                model.backward(net.loss(1, isWarmingUp ? 0 : 0.3f, isWarmingUp ? 1e-6f : 0.5f));
                optimizer.step();
              }
              float[] after = net.get();
              assertThat(after[1]).isEqualTo(1); // without gradients in the warm-up
              float limit = (float) (0.1 * 0.1 / Math.sqrt(0.001) / (1 - Math.pow(0.9, 20)));
              assertThat(before[2] - after[2]).isCloseTo(limit, within(1e-5f));
            }
          }
        });
  }

  @Test
  void numbersOutOfRangeAreRefused() {
    QAdam.Options defaults = QAdam.Options.defaults();
    assertThatIllegalArgumentException().isThrownBy(() -> defaults.withLearningRate(-1));
    assertThatIllegalArgumentException().isThrownBy(() -> defaults.withWarmupSteps(0));
    assertThatIllegalArgumentException().isThrownBy(() -> defaults.withBetas(1, 0));
    assertThatIllegalArgumentException().isThrownBy(() -> defaults.withBetas(0, Double.NaN));
    assertThatIllegalArgumentException().isThrownBy(() -> defaults.withEpsilon(-1));
    assertThatIllegalArgumentException().isThrownBy(() -> defaults.withWeightDecay(-1));
  }
}
