// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.rendezvous.Rendezvous;
import io.torchfeed.testing.RankThreads;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class GradientExchangeTest {
  private static final Path GOLDEN = Path.of("src/test/resources/golden/python_exchanges.txt");
  private static final List<String> NAMES = List.of("a", "b", "c", "d");
  private static final long[][] SHAPES = {{4, 3, 5}, {6, 8}, {5}, {6, 8}};
  private static final int STEPS = 5;

  private interface Body {
    void run(ProcessGroup group, Net net, DistributedDataParallel model) throws Exception;
  }

  private static void train(int ranks, DataParallelOptions options, Body body) throws Exception {
    RankThreads.run(
        ranks,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Net net = new Net();
            try (var model = DistributedDataParallel.wrap(net, group, options)) {
              body.run(group, net, model);
            }
          }
        });
  }

  /** An exchange under the name of its scenario in {@code python_exchanges.py}. */
  record Scenario(String name, GradientExchange exchange, float tolerance) {
    @Override
    public String toString() {
      return name;
    }
  }

  static List<Scenario> scenarios() {
    var powerSgd = GradientExchange.powerSgd().withStartIteration(2);
    return List.of(
        new Scenario("float16", GradientExchange.float16(), 0),
        new Scenario("bfloat16", GradientExchange.bfloat16(), 0),
        new Scenario("powerSgd", powerSgd.withMinCompressionRate(1), 1e-5f),
        new Scenario(
            "powerSgd-2",
            powerSgd
                .withMatrixApproximationRank(2)
                .withMinCompressionRate(1.2)
                .withOrthogonalizationEpsilon(1e-3)
                .withRandomSeed(12),
            1e-5f),
        new Scenario(
            "powerSgd-batch",
            powerSgd
                .withMatrixApproximationRank(3)
                .withMinCompressionRate(0.5)
                .withBatchTensorsWithSameShape(true),
            1e-5f),
        new Scenario(
            "powerSgd-cold",
            powerSgd
                .withStartIteration(0)
                .withErrorFeedback(false)
                .withWarmStart(false)
                .withRandomSeed(7),
            1e-5f));
  }

  @ParameterizedTest
  @MethodSource("scenarios")
  void gradientsEqualThoseOfPython(Scenario scenario) throws Exception {
    Map<String, float[]> golden = new HashMap<>();
    for (String line : Files.readAllLines(GOLDEN)) {
      String[] words = line.split(" ", -1);
      if (words[0].equals(scenario.name)) {
        float[] values = new float[words.length - 3];
        for (int i = 0; i < values.length; i++) {
          values[i] = Float.parseFloat(words[i + 3]);
        }
        golden.put(words[1] + " " + words[2], values);
      }
    }
    assertThat(golden).hasSize((STEPS - 2) * NAMES.size());
    DataParallelOptions options =
        DataParallelOptions.defaults().withBucketBytes(256).withExchange(scenario.exchange);
    train(
        2,
        options,
        (group, net, model) -> {
          for (int step = 0; step < STEPS; step++) {
            net.clearGradients();
            model.backward(net.loss(step, group.rank()));
            for (int i = 0; step >= 2 && i < NAMES.size(); i++) {
              String key = "step=" + step + " " + NAMES.get(i);
              assertThat(floats(net.tensors[i].grad()))
                  .as(key)
                  .usingComparatorWithPrecision(scenario.tolerance)
                  .containsExactly(golden.get(key));
            }
          }
        });
  }

  @Test
  void ranksOfOneNodeSendNothingToOthers() throws Exception {
    for (var exchange :
        List.of(
            GradientExchange.allReduce(),
            GradientExchange.byteGrad(),
            GradientExchange.qAdam(1, 0))) {
      train(
          3,
          DataParallelOptions.defaults().withExchange(exchange.withRanksPerNode(3)),
          (group, net, model) -> {
            for (int step = 0; step < 3; step++) {
              net.clearGradients();
              model.backward(net.loss(step, group.rank()));
              for (int i = 0; i < NAMES.size(); i++) {
                assertIsMeanOfThree(net.tensors[i].grad(), i, step);
              }
            }
            assertThat(model.stats().buckets().get(0).sentBytes()).isZero();
          });
    }
  }

  @Test
  void nodesThatDoNotDivideTheRanksAreRefused() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Net net = new Net();
            DataParallelOptions options =
                DataParallelOptions.defaults()
                    .withExchange(GradientExchange.byteGrad().withRanksPerNode(3));
            assertThatIllegalArgumentException()
                .isThrownBy(() -> DistributedDataParallel.wrap(net, group, options))
                .withMessageContaining("a divisor of the number of ranks, 2, got 3");
          }
        });
  }

  @Test
  void exchangesOfBytesAreNearTheMeanAndSendAQuarter() throws Exception {
    for (var exchange : List.of(GradientExchange.byteGrad(), GradientExchange.qAdam(1, 0))) {
      train(
          3,
          DataParallelOptions.defaults().withExchange(exchange),
          (group, net, model) -> {
            for (int step = 0; step < 3; step++) {
              net.clearGradients();
              model.backward(net.loss(step, group.rank()));
              for (int i = 0; i < NAMES.size(); i++) {
                assertIsMeanOfThree(net.tensors[i].grad(), i, step);
              }
            }
            var bucket = model.stats().buckets().get(0);
            assertThat(bucket.bytes()).isEqualTo(161 * 4);
            assertThat(bucket.sentBytes()).isEqualTo(4 * (32 + 64));
          });
    }
  }

  private static void assertIsMeanOfThree(Tensor gradient, int number, int step) {
    float[] averaged = floats(gradient);
    for (int i = 0; i < averaged.length; i++) {
      float sum = value(i, number, step, 0) + value(i, number, step, 1) + value(i, number, step, 2);
      assertThat(averaged[i]).isCloseTo(sum / 3, within(0.03f));
    }
  }

  @Test
  void ranksThatChooseDifferentExchangesAreRefused() throws Exception {
    RankThreads.run(
        2,
        group -> {
          DataParallelOptions options =
              DataParallelOptions.defaults()
                  .withExchange(
                      group.rank() == 0
                          ? GradientExchange.allReduce()
                          : GradientExchange.float16());
          try (PointerScope scope = new PointerScope()) {
            Net net = new Net();
            assertThatIllegalArgumentException()
                .isThrownBy(() -> DistributedDataParallel.wrap(net, group, options))
                .withMessageContaining(
                    "rank 0 has exchange allReduce; rank 1 has exchange float16");
          }
        });
  }

  @Test
  void aSingleRankKeepsItsGradients() throws Exception {
    train(
        1,
        DataParallelOptions.defaults().withExchange(GradientExchange.byteGrad()),
        (group, net, model) -> {
          model.backward(net.loss(3, 0));
          assertThat(floats(net.tensors[1].grad())[2]).isEqualTo(value(2, 1, 3, 0));
        });
  }

  @Test
  void abortingTheGroupWakesABackwardPass() throws Exception {
    CountDownLatch aborted = new CountDownLatch(1);
    train(
        2,
        DataParallelOptions.defaults().withExchange(GradientExchange.byteGrad()),
        (group, net, model) -> {
          if (group.rank() == 1) {
            aborted.await();
            return;
          }
          long start = System.nanoTime();
          Thread aborting =
              new Thread(
                  () -> {
                    Rendezvous.sleep(300);
                    group.abort();
                  });
          aborting.start();
          assertThatIllegalStateException()
              .isThrownBy(() -> model.backward(net.loss(0, 0)))
              .withMessageContaining("ProcessGroup was aborted");
          assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
          aborting.join();
          aborted.countDown();
        });
  }

  @Test
  void argumentsAreChecked() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> GradientExchange.qAdam(0, 0.9))
        .withMessage("warmupSteps must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> GradientExchange.qAdam(1, 1))
        .withMessage("beta1 must be in [0, 1), got 1.0");
    var powerSgd = GradientExchange.powerSgd();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> powerSgd.withMatrixApproximationRank(0))
        .withMessage("matrixApproximationRank must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> powerSgd.withStartIteration(-1))
        .withMessage("startIteration must be at least 0, got -1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> powerSgd.withMinCompressionRate(Double.NaN))
        .withMessage("minCompressionRate must be above 0, got NaN");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> powerSgd.withOrthogonalizationEpsilon(-1))
        .withMessage("orthogonalizationEpsilon must be at least 0, got -1.0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> powerSgd.withRandomSeed(1L << 32))
        .withMessage("randomSeed must be in [0, 2^32), got 4294967296");
  }

  @Test
  void exchangesAreValues() {
    assertThat(GradientExchange.powerSgd().withWarmStart(false).withWarmStart(true))
        .isEqualTo(GradientExchange.powerSgd())
        .hasSameHashCodeAs(GradientExchange.powerSgd());
    assertThat(GradientExchange.float16()).isNotEqualTo(GradientExchange.bfloat16());
    assertThat(GradientExchange.byteGrad().withRanksPerNode(2))
        .hasToString("Mean[format=BYTE_GRAD, ranksPerNode=2]");
    assertThat(GradientExchange.qAdam(3, 0.9))
        .hasToString("Momenta[warmupSteps=3, beta1=0.9, ranksPerNode=1]");
  }

  /** The gradient that each element has on a rank, as in {@code python_exchanges.py}. */
  private static float value(int index, int number, int step, int rank) {
    return ((7 * index + 3 * number + 5 * step + 11 * rank) % 23 - 11) / 7f;
  }

  private static float[] floats(Tensor tensor) {
    float[] values = new float[Math.toIntExact(tensor.numel())];
    new FloatPointer(tensor.data_ptr()).get(values);
    return values;
  }

  private static final class Net extends Module {
    private final Tensor[] tensors = new Tensor[SHAPES.length];

    Net() {
      for (int number = 0; number < SHAPES.length; number++) {
        int size = 1;
        for (long each : SHAPES[number]) {
          size *= (int) each;
        }
        tensors[number] = Tensor.create(new float[size], SHAPES[number]);
        register_parameter(NAMES.get(number), tensors[number]);
      }
    }

    void clearGradients() {
      for (Tensor tensor : tensors) {
        tensor.mutable_grad().reset();
      }
    }

    Tensor loss(int step, int rank) {
      Tensor loss = Tensor.create(0f);
      for (int number = 0; number < tensors.length; number++) {
        float[] values = new float[Math.toIntExact(tensors[number].numel())];
        for (int i = 0; i < values.length; i++) {
          values[i] = value(i, number, step, rank);
        }
        Tensor factor = Tensor.create(values, SHAPES[number]);
        loss = loss.add(tensors[number].mul(factor).sum());
      }
      return loss.sum();
    }
  }
}
