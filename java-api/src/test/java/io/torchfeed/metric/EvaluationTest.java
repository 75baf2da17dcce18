// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchException;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import io.torchfeed.testing.NumberedStream;
import io.torchfeed.testing.RankThreads;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AutogradState;
import org.bytedeco.pytorch.DropoutImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EvaluationTest {
  private static final int CLASSES = 3;

  /** A net with a frozen layer, and its metrics. */
  private static final class Trial extends Module {
    final Mean mean = Mean.create();
    final Accuracy accuracy = Accuracy.create();
    final DropoutImpl dropout = register_module("dropout", new DropoutImpl(0.5));
    final LinearImpl frozen = register_module("frozen", new LinearImpl(CLASSES, CLASSES));

    Trial() {
      train(true);
      frozen.eval();
    }

    Evaluation evaluation() {
      return Evaluation.of(this, MetricCollection.of(Map.of("mean", mean, "accuracy", accuracy)));
    }

    void update(Batch batch) {
      Tensor output = dropout.forward(batch.tensor(0));
      mean.update(output);
      accuracy.update(output, batch.tensor(1));
    }
  }

  /** Returns scores that are no short binary fractions, and classes of which some are wrong. */
  private static TensorDataset data(int samples) {
    Tensor numbers = torch.arange(new Scalar((long) samples * CLASSES));
    Tensor scores = torch.sin(numbers.mul(new Scalar(7.3))).view(samples, CLASSES);
    Tensor classes = torch.arange(new Scalar(samples)).remainder(new Scalar((long) CLASSES));
    return TensorDataset.of(scores.to(torch.ScalarType.Float), classes.to(torch.ScalarType.Long));
  }

  private static Map<String, Double> alone(int samples) {
    try (TensorDataset data = data(samples);
        Trial trial = new Trial()) {
      return trial.evaluation().run(DataLoader.over(data), trial::update);
    }
  }

  @ParameterizedTest
  @CsvSource({"1,10", "2,10", "2,11", "3,10", "4,10", "4,13", "4,2", "3,1", "4,4"})
  void eachSampleCountsOnceForAnyNumberOfRanks(int ranks, int samples) throws Exception {
    Map<String, Double> expected = alone(samples);
    Queue<Long> seen = new ConcurrentLinkedQueue<>();
    Queue<Map<String, Double>> results = new ConcurrentLinkedQueue<>();
    RankThreads.run(
        ranks,
        group -> {
          try (PointerScope scope = new PointerScope();
              TensorDataset data = data(samples);
              Trial trial = new Trial()) {
            DataLoaderBuilder loader = DataLoader.over(data).batchSize(3);
            results.add(
                trial
                    .evaluation()
                    .run(
                        group,
                        loader,
                        batch -> {
                          LongStream.of(batch.indices()).forEach(seen::add);
                          trial.update(batch);
                        }));
          }
        });
    assertThat(seen)
        .containsExactlyInAnyOrderElementsOf(LongStream.range(0, samples).boxed().toList());
    assertThat(results).hasSize(ranks).containsOnly(expected);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void eachSampleOfAStreamCountsOnce(int ranks) throws Exception {
    NumberedStream stream = new NumberedStream(List.of(7, 0, 4));
    Queue<Long> seen = new ConcurrentLinkedQueue<>();
    RankThreads.run(
        ranks,
        group -> {
          try (PointerScope scope = new PointerScope();
              Trial trial = new Trial()) {
            DataLoaderBuilder loader = DataLoader.over(stream).batchSize(4);
            trial
                .evaluation()
                .run(group, loader, batch -> LongStream.of(batch.indices()).forEach(seen::add));
          }
        });
    assertThat(seen).containsExactlyInAnyOrderElementsOf(stream.samples());
  }

  @Test
  void eachRunBeginsFromNothing() {
    Map<String, Double> expected = alone(11);
    try (TensorDataset few = data(2);
        TensorDataset data = data(11);
        Trial trial = new Trial()) {
      Evaluation evaluation = trial.evaluation();
      assertThat(evaluation.run(DataLoader.over(few), trial::update)).isNotEqualTo(expected);
      assertThat(evaluation.run(DataLoader.over(data), trial::update)).isEqualTo(expected);
    }
  }

  @Test
  void theModelIsInEvaluationModeAndEachLayerGoesBackToItsOwn() {
    try (TensorDataset data = data(2);
        Trial trial = new Trial()) {
      trial
          .evaluation()
          .run(
              DataLoader.over(data),
              batch -> {
                assertThat(trial.is_training() || trial.dropout.is_training()).isFalse();
                assertThat(AutogradState.get_tls_state().get_grad_mode()).isFalse();
              });
      requireModesOfBefore(trial);
      assertThatIllegalStateException()
          .isThrownBy(
              () ->
                  trial
                      .evaluation()
                      .run(
                          DataLoader.over(data),
                          batch -> {
                            throw new IllegalStateException("of the user");
                          }))
          .withMessage("of the user");
      requireModesOfBefore(trial);
    }
  }

  @Test
  void aModelThatIsNoModuleIsEvaluated() {
    try (TensorDataset data = data(7)) {
      Accuracy accuracy = Accuracy.create();
      Evaluation evaluation = Evaluation.of(MetricCollection.of(Map.of("accuracy", accuracy)));
      Map<String, Double> results =
          evaluation.run(
              DataLoader.over(data), batch -> accuracy.update(batch.tensor(0), batch.tensor(1)));
      assertThat(results).containsEntry("accuracy", alone(7).get("accuracy"));
    }
  }

  private static void requireModesOfBefore(Trial trial) {
    assertThat(trial.is_training() && trial.dropout.is_training()).isTrue();
    assertThat(trial.frozen.is_training()).isFalse();
    assertThat(AutogradState.get_tls_state().get_grad_mode()).isTrue();
  }

  @Test
  void optionsThatCouldRepeatOrLeaveOutSamplesAreRefused() {
    try (TensorDataset data = data(2);
        Trial trial = new Trial()) {
      List<UnaryOperator<DataLoaderBuilder>> wrong =
          List.of(
              loader -> loader.sampler(SequentialSampler.of(2)),
              loader -> loader.batchSampler(FixedSizeBatchSampler.of(SequentialSampler.of(2), 1)),
              loader -> loader.dropLast(true));
      for (UnaryOperator<DataLoaderBuilder> option : wrong) {
        DataLoaderBuilder loader = option.apply(DataLoader.over(data));
        assertThatIllegalStateException()
            .isThrownBy(() -> trial.evaluation().run(loader, trial::update))
            .withMessageContaining("leave out sampler, batchSampler, part and dropLast");
      }
      DataLoaderBuilder stream =
          DataLoader.over(new NumberedStream(List.of(2, 3))).part(Part.whole());
      assertThatIllegalStateException()
          .isThrownBy(() -> trial.evaluation().run(stream, trial::update));
      assertThatIllegalStateException()
          .isThrownBy(() -> DataLoader.over(data).forEvaluation(Part.whole()).dropLast(true));
    }
  }

  @Test
  void aBuilderServesManyEvaluations() {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = TensorDataset.of(torch.zeros(5, 1))) {
      DataLoaderBuilder loader = DataLoader.over(data).batchSize(2);
      for (int epoch = 0; epoch < 2; epoch++) {
        try (Trial trial = new Trial()) {
          AtomicLong samples = new AtomicLong();
          trial.evaluation().run(loader, batch -> samples.addAndGet(batch.size()));
          assertThat(samples).hasValue(5);
        }
      }
    }
  }

  @Test
  void ofMoreRanksThanShardsAllAreRefused() throws Exception {
    RankThreads.run(
        3,
        group -> {
          try (PointerScope scope = new PointerScope();
              Trial trial = new Trial()) {
            DataLoaderBuilder loader = DataLoader.over(new NumberedStream(List.of(2, 3)));
            assertThatIllegalArgumentException()
                .isThrownBy(() -> trial.evaluation().run(group, loader, batch -> {}))
                .withMessageContaining("the number of shards");
          }
        });
  }

  @Test
  void aRankThatFailsEndsTheOthersOnceItLeaves() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              TensorDataset data = data(4);
              Trial trial = new Trial()) {
            if (group.rank() == 0) {
              run(group, data, trial, PeerLostException.class);
            } else {
              run(group, data, trial, UnsupportedOperationException.class);
              group.abort();
            }
          }
        });
  }

  private static void run(
      ProcessGroup group, TensorDataset data, Trial trial, Class<? extends Exception> end) {
    DataLoaderBuilder loader = DataLoader.over(data).batchSize(2);
    assertThat(
            catchException(
                () ->
                    trial
                        .evaluation()
                        .run(
                            group,
                            loader,
                            batch -> {
                              if (group.rank() == 1) {
                                throw new UnsupportedOperationException();
                              }
                            })))
        .isInstanceOf(end);
  }
}
