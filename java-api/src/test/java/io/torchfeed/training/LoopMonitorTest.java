// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.summary.SummaryWriter;
import io.torchfeed.testing.NumberedStream;
import io.torchfeed.testing.RankThreads;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LoopMonitorTest {
  private static final int BATCH = 4;

  private static DataLoader loader(TensorDataset data, Part part) {
    return DataLoader.over(data)
        .sampler(ShuffledSampler.of(data.size(), part, 5))
        .batchSize(BATCH)
        .build();
  }

  private static <M extends ReplicatedModel> void train(
      TrainingLoopBuilder<M> builder, LoopNet net, List<Double> losses) throws Exception {
    builder
        .state(net::addTo)
        .epochs(2)
        .build()
        .run(
            (step, model, batch) -> {
              Tensor loss = net.loss(batch);
              losses.add((double) loss.item_float());
              return loss;
            },
            net.optimizer::step);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 4})
  void eachStepHasItsFigures(int accumulate) throws Exception {
    List<Double> losses = new ArrayList<>();
    List<Double> seen = new ArrayList<>();
    List<Long> left = new ArrayList<>();
    List<Long> samples = new ArrayList<>();
    List<Double> rates = new ArrayList<>();
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      LoopNet net = new LoopNet(0);
      LoopMonitor monitor =
          figures -> {
            assertThat(figures.step().number()).isEqualTo(seen.size());
            assertThat(figures.waited()).isLessThanOrEqualTo(figures.elapsed());
            seen.add(figures.loss());
            left.add(figures.stepsLeft().orElseThrow());
            samples.add(figures.samples());
            rates.add(figures.learningRate().orElseThrow());
          };
      train(
          TrainingLoop.alone(net)
              .loader(part -> loader(data, part))
              .accumulate(accumulate)
              .learningRate(LearningRate.perStep(net.optimizer, Schedule.steps(10, 0.5)))
              .monitor(monitor),
          net,
          losses);
    }
    int steps = accumulate == 1 ? 30 : 8; // of 15 batches in each epoch
    assertThat(seen).hasSize(steps);
    double first = losses.subList(0, accumulate).stream().mapToDouble(Double::valueOf).sum();
    assertThat(seen.get(0)).isEqualTo(first);
    assertThat(left.get(0)).isEqualTo(steps - 1);
    assertThat(left.get(steps - 1)).isZero();
    assertThat(left).isSortedAccordingTo(Collections.reverseOrder()).doesNotHaveDuplicates();
    assertThat(samples.get(0)).isEqualTo((long) accumulate * BATCH);
    assertThat(samples.get(steps - 1)).isEqualTo(2L * LoopNet.SAMPLES);
    assertThat(rates.get(0)).isEqualTo(0.01);
    assertThat(rates.get(steps - 1)).isEqualTo(accumulate == 1 ? 0.0025 : 0.01);
  }

  @Test
  void aStreamDoesNotKnowTheStepsLeft() throws Exception {
    List<Long> samples = new ArrayList<>();
    try (PointerScope scope = new PointerScope()) {
      LoopNet net = new LoopNet(0);
      train(
          TrainingLoop.alone(net)
              .loader(
                  part ->
                      DataLoader.over(new NumberedStream(List.of(8, 4))).batchSize(BATCH).build())
              .monitor(
                  figures -> {
                    assertThat(figures.stepsLeft()).isEmpty();
                    samples.add(figures.samples());
                  }),
          net,
          new ArrayList<>());
    }
    assertThat(samples).containsExactly(4L, 8L, 12L, 16L, 20L, 24L);
  }

  @Test
  void theFirstRankPrintsAndBothCount() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream out = new PrintStream(bytes, true, UTF_8);
    AtomicLong samples = new AtomicLong();
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      RankThreads.run(
          2,
          group -> {
            try (PointerScope ofThread = new PointerScope()) {
              LoopNet net = new LoopNet(0);
              LoopMonitor counts =
                  figures ->
                      samples.addAndGet(
                          figures.stepsLeft().orElseThrow() == 0 ? figures.samples() : 0);
              train(
                  TrainingLoop.over(
                          Ranks.of(group), ranks -> DistributedDataParallel.wrap(net, ranks))
                      .loader(part -> loader(data, part))
                      .monitor(ProgressLine.every(Duration.ZERO, out).andThen(counts)),
                  net,
                  new ArrayList<>());
            }
          });
    }
    assertThat(samples).hasValue(2L * LoopNet.SAMPLES);
    List<String> lines = bytes.toString(UTF_8).lines().toList();
    assertThat(lines).hasSize(16);
    assertThat(lines.get(0))
        .matches(
            "epoch 1, step 1: \\d+ samples/s, loss \\d\\.\\d+, waited \\d+ %, \\d+:\\d\\d left");
    assertThat(lines.get(15)).startsWith("epoch 2, step 16: ").endsWith(", 0:00 left");
  }

  @Test
  void curvesArePointsOfEveryNthStep(@TempDir Path folder) throws Exception {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data();
        SummaryWriter writer = SummaryWriter.open(folder)) {
      LoopNet net = new LoopNet(0);
      List<Double> losses = new ArrayList<>();
      train(
          TrainingLoop.alone(net)
              .loader(part -> loader(data, part))
              .monitor(LoopMonitor.curves(writer, 10)),
          net,
          losses);
      List<String> rows = Files.readAllLines(folder.resolve("scalars.csv"));
      assertThat(rows).hasSize(1 + 4 * 3);
      assertThat(rows.get(1)).startsWith("10,\"train/loss\"," + losses.get(9) + ",");
      assertThat(rows.get(9)).startsWith("30,\"train/loss\"," + losses.get(29) + ",");
      assertThatIllegalArgumentException().isThrownBy(() -> LoopMonitor.curves(writer, 0));
    }
  }

  @Test
  void aMonitorThatFailsEndsTheRun() {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      LoopNet net = new LoopNet(0);
      assertThatThrownBy(
              () ->
                  train(
                      TrainingLoop.alone(net)
                          .loader(part -> loader(data, part))
                          .monitor(
                              figures -> {
                                throw new IllegalStateException("a monitor's own failure");
                              }),
                      net,
                      new ArrayList<>()))
          .hasMessage("a monitor's own failure");
    }
  }

  @Test
  void aNegativeIntervalIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ProgressLine.every(Duration.ofSeconds(-1), System.out))
        .withMessageContaining("PT-1S");
  }
}
