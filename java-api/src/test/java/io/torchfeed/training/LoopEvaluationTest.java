// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.checkpoint.CheckpointException;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.NumberedStream;
import io.torchfeed.testing.RankThreads;
import io.torchfeed.training.TrainingLoop.Outcome;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the events, options and errors of evaluations and limits; the contract has the rest. */
class LoopEvaluationTest {
  private static final EvaluationOptions LOSS = EvaluationOptions.ofLoss();

  private final List<String> events = Collections.synchronizedList(new ArrayList<>());
  private final Path folder;

  LoopEvaluationTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** Trains four epochs of five steps, with losses that fall once. */
  private Outcome train(@Nullable EvaluationOptions options) throws InterruptedException {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data();
        LoopNet net = new LoopNet(0);
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      var builder = builder(TrainingLoop.alone(net), net, data).checkpoints(checkpoints, 100);
      if (options != null) {
        builder.evaluation((model, step) -> step.epoch() == 0 ? 0.5 : 0.75, options);
      }
      return builder.build().run((step, model, batch) -> net.loss(batch), net.optimizer::step);
    }
  }

  private <M extends ReplicatedModel> TrainingLoopBuilder<M> builder(
      TrainingLoopBuilder<M> builder, LoopNet net, TensorDataset data) {
    return builder
        .state(net::addTo)
        .loader(
            part ->
                DataLoader.over(data)
                    .sampler(ShuffledSampler.of(LoopNet.SAMPLES, part, 42))
                    .batchSize(LoopNet.GLOBAL_BATCH / part.worldSize())
                    .build())
        .epochs(4)
        .events(event -> events.add(event.toString()));
  }

  @Test
  void eachEvaluationIsAnEventAndMorePatienceGoesOn() throws Exception {
    assertThat(train(LOSS.withPatience(2))).isEqualTo(Outcome.STOPPED_EARLY);
    assertThat(events)
        .containsExactly(
            "EVALUATED loss 0.5 after 5 steps, the best",
            "EVALUATED loss 0.75 after 10 steps, no better than 0.5, 1 in a row",
            "EVALUATED loss 0.75 after 15 steps, no better than 0.5, 2 in a row",
            "STOPPED stops early after 15 steps: the loss was no better than 0.5 2 times in a row");
    events.clear();
    assertThat(train(LOSS.withPatience(2))).isEqualTo(Outcome.STOPPED_EARLY);
    assertThat(events)
        .containsExactly(
            "NOTHING_LEFT the training had stopped early after 15 steps, in %s; for more, raise the patience, or to begin again, another folder of checkpoints"
                .formatted(folder.resolve("step-000015")),
            "STOPPED stops early after 15 steps: the loss was no better than 0.5 2 times in a row");
    events.clear();
    assertThat(train(LOSS.withPatience(4))).isEqualTo(Outcome.COMPLETED);
    assertThat(events)
        .last()
        .isEqualTo("EVALUATED loss 0.75 after 20 steps, no better than 0.5, 3 in a row");
  }

  @Test
  void anEvaluationMayBeAddedToATrainingOrLeftOut() throws Exception {
    assertThat(train(LOSS.withPatience(1).withMinDelta(0.1))).isEqualTo(Outcome.STOPPED_EARLY);
    assertThat(train(null)).isEqualTo(Outcome.COMPLETED);
    events.clear();
    assertThat(train(LOSS.withEverySteps(4))).isEqualTo(Outcome.COMPLETED);
    assertThat(events).singleElement().asString().startsWith("NOTHING_LEFT all epochs");
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThat(checkpoints.loadBest(TrainingState.builder().build()).orElseThrow().metric())
          .contains(Metric.ofLoss(0.5));
      assertThat(checkpoints.loadBest(TrainingState.builder().build()).orElseThrow())
          .hasToString(
              "checkpoint after 5 steps with the loss 0.5 in " + folder.resolve("step-000005"));
    }
  }

  @Test
  void aMetricOfTheOtherKindThanTheCheckpointHasIsRefused() throws Exception {
    train(LOSS.withPatience(1));
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> train(EvaluationOptions.ofScore()))
        .withMessageEndingWith(
            "part progress: the checkpoint was evaluated by a loss, but this loop evaluates by a"
                + " score; evaluate as before, or to begin again, use another folder of checkpoints");
  }

  @Test
  void ranksWithOtherValuesAreNamedAndOtherOptionsRefused() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              TensorDataset data = LoopNet.data();
              LoopNet net = new LoopNet(0);
              var model = DistributedDataParallel.wrap(net, group)) {
            builder(TrainingLoop.of(Ranks.of(group), model), net, data)
                .maxSteps(5)
                .evaluation((wrapped, step) -> step.rank() == 0 ? 0.5 : 0.25, LOSS)
                .build()
                .run((step, wrapped, batch) -> net.loss(batch), net.optimizer::step);
            var other =
                builder(TrainingLoop.of(Ranks.of(group), model), net, data)
                    .evaluation((wrapped, step) -> 0, LOSS.withMinDelta(group.rank() / 4.0))
                    .build();
            assertThatExceptionOfType(RuntimeException.class)
                .isThrownBy(() -> other.run((step, wrapped, batch) -> net.loss(batch), () -> {}))
                .withMessage(
                    "the options of the ranks differ in minDelta of the evaluation: rank 0 has 0.0,"
                        + " rank 1 has 0.25");
          }
        });
    assertThat(events)
        .hasSize(2)
        .containsOnly("EVALUATED loss 0.5 after 5 steps, the best; rank 1 has 0.25");
  }

  @Test
  void anEvaluationIsSetOnceAndALambdaHasNoName() {
    try (PointerScope scope = new PointerScope();
        LoopNet net = new LoopNet(0)) {
      var builder = TrainingLoop.alone(net).evaluation((model, step) -> 0, LOSS);
      assertThatIllegalStateException()
          .isThrownBy(() -> builder.evaluation((model, step) -> 0, LOSS))
          .withMessage("evaluation was already set");
    }
  }

  @Test
  void notANumberIsNoBetterAndNoMetricOfACheckpoint() {
    Evaluations results = new Evaluations(LOSS.withPatience(2).withMinDelta(0.5));
    assertThat(results.take(1, Double.NaN))
        .isEqualTo("loss NaN after 1 steps, not a number, 1 in a row");
    assertThat(results.take(2, 3, Double.NaN)).isEqualTo("loss 3.0 after 2 steps, the best");
    results.take(3, 2.75);
    assertThat(results.isOver()).isFalse();
    results.take(4, Double.NaN);
    assertThat(results.isOver()).isTrue();
    assertThat(results.metricAfter(4)).isEmpty();
    assertThat(results.metricAfter(5)).isEmpty();
  }

  @Test
  void anEpochWithoutBatchesIsRefusedBeforeItsEnd() {
    try (PointerScope scope = new PointerScope();
        LoopNet net = new LoopNet(0);
        TensorDataset data = LoopNet.data();
        NativeDataset none = data.subset();
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      for (DataLoaderBuilder builder :
          List.of(
              DataLoader.over(new NumberedStream(List.of(0))).batchSize(4),
              DataLoader.over(none).batchSize(4),
              DataLoader.over(data).batchSize(LoopNet.SAMPLES + 1).dropLast(true))) {
        TrainingLoop<?> loop =
            TrainingLoop.alone(net)
                .state(net::addTo)
                .loader(part -> builder.build())
                .epochs(2)
                .checkpoints(checkpoints, 1)
                .afterEpoch((model, step) -> events.add("the end"))
                .build();
        assertThatIllegalStateException()
            .isThrownBy(() -> loop.run((step, model, batch) -> net.loss(batch), () -> {}))
            .withMessage(
                "epoch 0 has no batch, so there is nothing to train on: the data has no samples, or"
                    + " fewer than a batch and dropLast leaves them out");
      }
      assertThat(events).isEmpty();
      assertThat(checkpoints.steps()).isEmpty();
    }
  }

  @Test
  void optionsOutsideOfTheirRangeAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LOSS.withPatience(0))
        .withMessage("the patience must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LOSS.withEverySteps(0))
        .withMessage("the steps between evaluations must be at least 1, got 0");
    for (double delta : new double[] {-0.5, Double.NaN, Double.POSITIVE_INFINITY}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> LOSS.withMinDelta(delta))
          .withMessage("delta must be at least 0 and finite, got " + delta);
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LOSS.withPlateau(Plateau.ofScore(PlateauOptions.defaults())))
        .withMessage("the plateau must be of a loss, as the evaluation, got one of a score");
    try (LoopNet net = new LoopNet(0)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> TrainingLoop.alone(net).maxSteps(0))
          .withMessage("maxSteps must be at least 1, got 0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> TrainingLoop.alone(net).maxTime(Duration.ZERO))
          .withMessage("limit must be at least 1 ms, got PT0S");
    }
  }
}
