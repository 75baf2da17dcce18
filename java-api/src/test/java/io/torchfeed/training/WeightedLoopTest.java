// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.AveragingAlgorithm;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.LoggedTexts;
import io.torchfeed.testing.RankThreads;
import io.torchfeed.training.LoopEvent.Kind;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.CrossEntropyLossOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests weights of batches and steps that are skipped, as the loop has them. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WeightedLoopTest {
  private static final int SAMPLES = 48;
  private static final int GLOBAL_BATCH = 24;
  private static final int STEPS = 2 * SAMPLES / GLOBAL_BATCH;

  private final List<LoopEvent> events = new ArrayList<>();

  /** A linear net and its optimizer; a class of -1 is not counted. */
  private static final class Training implements AutoCloseable {
    final LinearImpl net;
    final SGD optimizer;

    Training() {
      net = new LinearImpl(3, 2);
      net.weight().detach().copy_(sines(6).view(2, 3));
      net.bias().detach().zero_();
      SGDOptions options = new SGDOptions(0.2);
      options.momentum().put(0.9);
      optimizer = new SGD(net.parameters(), options);
    }

    Tensor loss(Batch batch) {
      CrossEntropyLossOptions options = new CrossEntropyLossOptions();
      options.ignore_index().put(-1);
      return torch.cross_entropy(net.forward(batch.tensor(0)), batch.tensor(1), options);
    }

    @Override
    public void close() {
      optimizer.close();
      net.close();
    }

    static double counted(Batch batch) {
      return batch.tensor(1).ge(new Scalar(0)).sum().item_double();
    }
  }

  private static Tensor sines(long count) {
    return torch
        .sin(torch.arange(new Scalar(count)).mul(new Scalar(7.3)))
        .to(torch.ScalarType.Float);
  }

  /** Most samples of odd ranks and batches are not counted, and none of the last batch. */
  private static TensorDataset data() {
    long[] classes = new long[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
      boolean isCounted = i < 36 && (i % 2 == 0 || i % 5 == 0);
      classes[i] = isCounted ? i % 3 % 2 : -1;
    }
    return TensorDataset.of(sines(3 * SAMPLES).view(SAMPLES, 3), Tensor.create(classes));
  }

  private static DataParallelOptions weighted() {
    return DataParallelOptions.defaults().withWeightedLosses(true);
  }

  private static <M extends ReplicatedModel> TrainingLoopBuilder<M> builder(
      Ranks ranks, M model, Training training, TensorDataset data, int accumulate) {
    return TrainingLoop.of(ranks, model)
        .state(all -> all.module("model", training.net))
        .loader(
            part ->
                DataLoader.over(data)
                    .sampler(ShuffledSampler.of(SAMPLES, part, 42))
                    .batchSize(GLOBAL_BATCH / part.worldSize() / accumulate)
                    .build())
        .accumulate(accumulate)
        .epochs(2);
  }

  private static Tensor trained(ProcessGroup group, int accumulate) throws InterruptedException {
    Training training = new Training();
    try (TensorDataset data = data();
        var model = DistributedDataParallel.wrap(training.net, group, weighted())) {
      builder(Ranks.of(group), model, training, data, accumulate)
          .weight(Training::counted)
          .build()
          .run((step, net, batch) -> training.loss(batch), training.optimizer::step);
      model.verifyReplicas();
    }
    return training.net.weight().detach();
  }

  private static Tensor trainedAlone(int accumulate) throws InterruptedException {
    Training training = new Training();
    try (TensorDataset data = data()) {
      TrainingLoop.alone(training.net)
          .state(all -> all.module("model", training.net))
          .loader(
              part ->
                  DataLoader.over(data)
                      .sampler(ShuffledSampler.of(SAMPLES, part, 42))
                      .batchSize(GLOBAL_BATCH / accumulate)
                      .build())
          .accumulate(accumulate)
          .epochs(2)
          .weight(Training::counted)
          .build()
          .run((step, net, batch) -> training.loss(batch), training.optimizer::step);
    }
    return training.net.weight().detach();
  }

  @Test
  void ranksAndBatchesWithDifferentWeightsTrainLikeTheJointBatch() throws Exception {
    try (PointerScope scope = new PointerScope()) {
      Tensor expected = trainedAlone(1);
      for (int accumulate : new int[] {2, 4}) {
        assertThat(torch.allclose(trainedAlone(accumulate), expected, 1e-5, 1e-6, false)).isTrue();
      }
      for (int ranks : new int[] {1, 2, 3}) {
        for (int accumulate : new int[] {1, 2}) {
          RankThreads.run(
              ranks,
              group -> {
                try (PointerScope inner = new PointerScope()) {
                  assertThat(
                          torch.allclose(trained(group, accumulate), expected, 1e-5, 1e-6, false))
                      .as("%d ranks, %d batches", ranks, accumulate)
                      .isTrue();
                }
              });
        }
      }
    }
  }

  @Test
  void aStepThatIsNotFiniteOnOneRankChangesNothingOnAll() throws Exception {
    RankThreads.run(
        2,
        group -> {
          String[] before = new String[1];
          try (PointerScope scope = new PointerScope();
              Training training = new Training();
              TensorDataset data = data();
              var model = DistributedDataParallel.wrap(training.net, group)) {
            var loop =
                builder(Ranks.of(group), model, training, data, 1)
                    .skipNonFinite()
                    .events(group.rank() == 1 ? events::add : event -> {})
                    .afterStep(
                        (net, step) -> {
                          String now = net.digest();
                          assertThat(now.equals(before[0])).isEqualTo(step.number() == 2);
                          before[0] = now;
                        })
                    .build();
            loop.run(
                (step, net, batch) -> {
                  boolean isBad = step.number() == 2 && step.rank() == 1;
                  Tensor loss = training.net.forward(batch.tensor(0)).square().mean();
                  return isBad ? loss.div(new Scalar(0)) : loss;
                },
                training.optimizer::step);
            assertThat(loop.skippedSteps()).isEqualTo(1);
            assertThat(loop.step()).isEqualTo(STEPS);
            assertThat(torch.isfinite(training.net.weight()).all().item_bool()).isTrue();
            model.verifyReplicas();
          }
        });
    assertThat(events)
        .containsExactly(
            new LoopEvent(
                Kind.NOT_FINITE,
                "step 2 changed nothing, since a gradient is not finite; 1 such steps so far"));
  }

  @Test
  void ranksThatSkipOtherStepsAreRefused() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              Training training = new Training();
              TensorDataset data = data();
              var model = DistributedDataParallel.wrap(training.net, group)) {
            var builder = builder(Ranks.of(group), model, training, data, 1);
            if (group.rank() == 0) {
              builder.skipNonFinite();
            }
            var loop = builder.build();
            assertThatThrownBy(() -> loop.run((step, net, batch) -> training.loss(batch), () -> {}))
                .hasMessageContaining("differ in skipNonFinite: rank 0 has 1, rank 1 has 0");
          }
        });
  }

  @Test
  void aSkippedStepIsAWarningOfRank0() throws Exception {
    try (PointerScope scope = new PointerScope();
        Training training = new Training();
        TensorDataset data = data();
        LoggedTexts log = new LoggedTexts("io.torchfeed.training")) {
      TrainingLoop.alone(training.net)
          .state(all -> all.module("model", training.net))
          .loader(
              part ->
                  DataLoader.over(data)
                      .sampler(ShuffledSampler.of(SAMPLES, part, 42))
                      .batchSize(SAMPLES)
                      .build())
          .skipNonFinite()
          .build()
          .run(
              (step, net, batch) -> training.net.forward(batch.tensor(0)).mean().div(new Scalar(0)),
              training.optimizer::step);
      assertThat(log.all()).singleElement().asString().startsWith("step 0 changed nothing");
    }
  }

  @Test
  void modelsThatCannotAreRefused() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              Training training = new Training();
              TensorDataset data = data();
              var plain = DistributedDataParallel.wrap(training.net, group)) {
            var loop =
                builder(Ranks.of(group), plain, training, data, 1)
                    .weight(Training::counted)
                    .build();
            assertThatIllegalStateException()
                .isThrownBy(() -> loop.run((step, net, batch) -> training.loss(batch), () -> {}))
                .withMessageContaining("withWeightedLosses(true)");
          }
        });
    RankThreads.run(
        2,
        group -> {
          var algorithm = AveragingAlgorithm.decentralized();
          try (PointerScope scope = new PointerScope();
              Training training = new Training();
              TensorDataset data = data();
              var model = ModelAveraging.wrap(training.net, group, algorithm)) {
            var loop =
                builder(Ranks.of(group), model, training, data, 1)
                    .weight(Training::counted)
                    .build();
            assertThatIllegalStateException()
                .isThrownBy(() -> loop.run((step, net, batch) -> training.loss(batch), () -> {}))
                .withMessageContaining("ModelAveraging exchanges parameters");
            var other = builder(Ranks.of(group), model, training, data, 1).skipNonFinite().build();
            assertThatIllegalStateException()
                .isThrownBy(() -> other.run((step, net, batch) -> training.loss(batch), () -> {}))
                .withMessageContaining("skipNonFinite needs gradients that are the same");
          }
        });
  }
}
