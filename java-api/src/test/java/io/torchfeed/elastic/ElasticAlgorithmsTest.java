// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import io.torchfeed.distributed.training.AveragingAlgorithm;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.GradientExchange;
import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.QAdam;
import io.torchfeed.elastic.ElasticThreads.Meeting;
import io.torchfeed.elastic.ElasticThreads.Rank;
import io.torchfeed.elastic.ElasticThreads.UserException;
import io.torchfeed.training.TrainingLoop.Outcome;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests the elastic loop with each exchange of gradients and of weights: of three ranks, one is
 * lost, and later another one comes. At the start of each generation, the whole state of all ranks
 * is equal bit for bit.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticAlgorithmsTest {
  private static final int EPOCHS = 2;
  private static final int LOST_AT = 3;
  private static final int COMES_AT = 6;

  /** Trains; returns the log. */
  private static ElasticLog train(Consumer<Rank> kind) throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 3)) {
      CountDownLatch come = new CountDownLatch(1);
      Rank a = threads.new Rank("a");
      Rank b = threads.new Rank("b");
      Rank c = threads.new Rank("c");
      Rank d = threads.new Rank("d");
      for (Rank each : List.of(a, b, c, d)) {
        each.options = builder -> builder.epochs(EPOCHS);
        kind.accept(each);
      }
      Meeting lost = new Meeting(LOST_AT, 2);
      c.before =
          step -> {
            if (step == LOST_AT) {
              lost.await();
              throw new UserException();
            }
          };
      for (Rank each : List.of(a, b)) {
        each.before =
            step -> {
              lost.in(step, each.name);
              // without a step that waits for others, they may be here when the other one is lost
              while (step == COMES_AT && come.getCount() > 0 && !each.isBroken()) {
                Thread.onSpinWait();
              }
            };
      }
      List<Future<Outcome>> ends = List.of(a.start(), b.start());
      assertThatThrownBy(c.start()::get).hasCauseInstanceOf(UserException.class);
      threads.await(Kind.LOST);
      threads.await(Kind.FORMED);
      Future<Outcome> last = threads.startBeside(d, a, b);
      come.countDown();
      for (Future<Outcome> each : ends) {
        assertThat(each.get()).isEqualTo(Outcome.COMPLETED);
      }
      assertThat(last.get()).isEqualTo(Outcome.COMPLETED);
      assertThat(threads.coordinator.generation()).isEqualTo(3);
      return threads.log();
    }
  }

  static Stream<GradientExchange> exchanges() {
    return Stream.of(
        GradientExchange.allReduce(),
        GradientExchange.float16(),
        GradientExchange.bfloat16(),
        GradientExchange.byteGrad(),
        GradientExchange.powerSgd().withStartIteration(2).withMinCompressionRate(1));
  }

  @ParameterizedTest
  @MethodSource("exchanges")
  void eachExchangeOfGradientsContinues(GradientExchange exchange) throws Exception {
    DataParallelOptions options = DataParallelOptions.defaults().withExchange(exchange);
    ElasticLog log =
        train(
            rank -> rank.model = (net, group) -> DistributedDataParallel.wrap(net, group, options));
    log.assertEachSampleOnce(EPOCHS);
    assertThat(log.generation(2).step()).isEqualTo(LOST_AT);
  }

  /** An optimizer that is made with the model, which is made when the first group is there. */
  private static final class LateQAdam implements Stateful {
    private static final QAdam.Options OPTIONS = QAdam.Options.defaults().withWarmupSteps(5);

    private @Nullable QAdam optimizer;

    DistributedDataParallel wrap(ElasticNet net, ProcessGroup group) {
      DistributedDataParallel model =
          DistributedDataParallel.wrap(
              net, group, DataParallelOptions.defaults().withExchange(OPTIONS.exchange()));
      optimizer = QAdam.of(model, OPTIONS);
      return model;
    }

    void step() {
      requireNonNull(optimizer).step();
    }

    void close() {
      requireNonNull(optimizer).close();
    }

    @Override
    public StateDict stateDict() {
      return requireNonNull(optimizer).stateDict();
    }

    @Override
    public void loadStateDict(StateDict state) {
      requireNonNull(optimizer).loadStateDict(state);
    }
  }

  /** The rank is lost in the warm-up, and the other one comes after it. */
  @Test
  void qAdamContinuesInItsWarmUpAndAfterIt() throws Exception {
    List<LateQAdam> optimizers = new ArrayList<>();
    ElasticLog log =
        train(
            rank -> {
              LateQAdam optimizer = new LateQAdam();
              optimizers.add(optimizer);
              rank.model = optimizer::wrap;
              rank.optimizer =
                  (net, state) -> {
                    state.module("model", net).part("optimizer", optimizer);
                    return optimizer::step;
                  };
            });
    optimizers.forEach(LateQAdam::close);
    log.assertEachSampleOnce(EPOCHS);
  }

  private static void average(Rank rank, AveragingAlgorithm algorithm) {
    rank.model = (net, group) -> ModelAveraging.wrap(net, group, algorithm);
  }

  static Stream<AveragingAlgorithm> coupled() {
    return Stream.of(
        AveragingAlgorithm.decentralized(),
        AveragingAlgorithm.shiftOne().withAllIfOdd(),
        AveragingAlgorithm.lowPrecision());
  }

  /** In each step a rank waits for others. */
  @ParameterizedTest
  @MethodSource("coupled")
  void eachExchangeOfWeightsInEachStepContinues(AveragingAlgorithm algorithm) throws Exception {
    train(rank -> average(rank, algorithm)).assertEachSampleOnce(EPOCHS);
  }

  static Stream<AveragingAlgorithm> loose() {
    return Stream.of(
        AveragingAlgorithm.postLocal(2, 2),
        AveragingAlgorithm.asynchronous(Duration.ofMillis(1)).withWarmup(2));
  }

  /** A rank that is behind when the generation breaks does not make up for it. */
  @ParameterizedTest
  @MethodSource("loose")
  void ranksThatAreStepsApartUseNoSampleTwice(AveragingAlgorithm algorithm) throws Exception {
    ElasticLog log = train(rank -> average(rank, algorithm));
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
      assertThat(log.used(epoch)).doesNotHaveDuplicates();
    }
    assertThat(log.used(EPOCHS - 1)).hasSize(ElasticNet.SAMPLES);
  }

  /** 4 batches of an epoch of 10 are one step; the last step has 2. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void accumulatedGradientsAreOneStep(boolean isAveraging) throws Exception {
    int batches = 4;
    try (ElasticThreads threads = new ElasticThreads(1, 3)) {
      Rank a = threads.new Rank("a");
      Rank b = threads.new Rank("b");
      Rank c = threads.new Rank("c");
      for (Rank each : List.of(a, b, c)) {
        each.options = builder -> builder.epochs(EPOCHS).accumulate(batches);
        if (isAveraging) {
          average(each, AveragingAlgorithm.decentralized());
        }
      }
      Meeting second = new Meeting(1, 2);
      a.before = step -> second.in(step, a.name);
      b.before = step -> second.in(step, b.name);
      int[] passes = new int[1];
      c.before =
          step -> {
            passes[0]++;
            if (passes[0] == batches + 2) { // in the middle of the second step
              second.await();
              throw new UserException();
            }
          };
      List<Future<Outcome>> ends = List.of(a.start(), b.start());
      assertThatThrownBy(c.start()::get).hasCauseInstanceOf(UserException.class);
      for (Future<Outcome> each : ends) {
        assertThat(each.get()).isEqualTo(Outcome.COMPLETED);
      }
      ElasticLog log = threads.log();
      log.assertEachSampleOnce(EPOCHS);
      assertThat(log.generation(2).step()).isEqualTo(1);
    }
  }

  @Test
  void weightsAreAveragedBeforeACheckpointFromWhichOthersContinue(@TempDir Path folder)
      throws Exception {
    try (ElasticThreads threads = new ElasticThreads(2, 2);
        Checkpoints ofA = Checkpoints.open(folder);
        Checkpoints ofB = Checkpoints.open(folder)) {
      Rank a = threads.new Rank("a");
      Rank b = threads.new Rank("b");
      a.options = builder -> builder.checkpoints(ofA, 4);
      b.options = builder -> builder.checkpoints(ofB, 4);
      for (Rank each : List.of(a, b)) {
        average(each, AveragingAlgorithm.postLocal(2, 3));
      }
      List<Future<Outcome>> ends = List.of(a.start(), b.start());
      for (Future<Outcome> each : ends) {
        assertThat(each.get()).isEqualTo(Outcome.COMPLETED);
      }
      threads.log().assertEachSampleOnce(1);
    }
    try (ElasticThreads threads = new ElasticThreads(1, 1);
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      Rank c = threads.new Rank("c");
      c.options = builder -> builder.checkpoints(checkpoints, 4).epochs(2);
      average(c, AveragingAlgorithm.postLocal(2, 3));
      assertThat(c.start().get()).isEqualTo(Outcome.COMPLETED);
      assertThat(threads.log().generation(1).step())
          .isEqualTo(ElasticNet.SAMPLES / ElasticNet.GLOBAL_BATCH);
      assertThat(threads.log().used(1)).hasSize(ElasticNet.SAMPLES);
    }
  }
}
