// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.checkpoint.CheckpointOptions;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.training.TrainingLoop.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The part of the contract of {@link TrainingLoop} about its ends: by a metric, a number of steps
 * and a time. All ranks end after the same step, and a training that is killed in between and
 * resumed ends after that step, too, with the same bits.
 *
 * <p>Seen to fail here: a patience that is counted again after a resume, a plateau whose state is
 * not loaded, ranks that each take their own metric, a rank that stops alone when its time is over,
 * and steps and a time that end one step late.
 */
abstract class LoopLimitsContract {
  static final long SEED = 5;
  static final long NEVER = Long.MAX_VALUE;
  private static final int STEPS_OF_EPOCH = LoopNet.SAMPLES / LoopNet.GLOBAL_BATCH;
  private static final Duration HOUR = Duration.ofHours(1);

  /** The losses after epochs: the best is the third, and two after it are no better. */
  private static final List<Double> LOSSES = List.of(5.0, 4.0, 3.0, 3.5, 3.0, 2.0, 1.0);

  private static final long BEST = 3L * STEPS_OF_EPOCH;
  private static final long LAST = 5L * STEPS_OF_EPOCH;

  /** The end of a process in a step. */
  static final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  /** One rank of the source. */
  interface Source {
    TrainingLoopBuilder<? extends ReplicatedModel> loop(Module net);
  }

  @FunctionalInterface
  interface Body {
    void run(Source source) throws Exception;
  }

  /** The options of a loop. */
  private interface Options {
    void set(TrainingLoopBuilder<? extends ReplicatedModel> builder, LoopNet net);
  }

  /** The end of a rank. */
  private record End(Outcome outcome, long step, String digest) {}

  final Path temporary;
  private final List<String> evaluated = Collections.synchronizedList(new ArrayList<>());
  private final AtomicLong clock = new AtomicLong();
  private volatile CountDownLatch meeting = new CountDownLatch(0);
  private volatile long late = NEVER;

  LoopLimitsContract(Path temporary) {
    this.temporary = temporary;
  }

  /** Returns the number of ranks. */
  abstract int ranks();

  /** Runs a body on each rank; returns when all have ended, and throws their failure. */
  abstract void onEachRank(Body body) throws Exception;

  /** Sets that a checkpoint is saved after each step. */
  void keep(TrainingLoopBuilder<?> builder, Checkpoints checkpoints) {
    builder.checkpoints(checkpoints, isAsked() ? 1000 : 1);
  }

  /** Returns whether a stop is asked for, so that no other checkpoint is needed. */
  abstract boolean isAsked();

  /** Removes the checkpoints of other trainings, if the source has a place for them. */
  void forget() throws IOException {}

  /** Returns the steps of the checkpoints, latest first, and the best of them. */
  List<Long> kept(Path folder) throws IOException {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      List<Long> all = new ArrayList<>(checkpoints.steps());
      all.add(LoopNet.loadBest(checkpoints));
      return all;
    }
  }

  final void beginToMeet() {
    meeting = new CountDownLatch(ranks());
  }

  /** Waits for the other ranks. */
  final void meet() {
    meeting.countDown();
    try {
      meeting.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Trains until a step, or to the end; returns the ends of the ranks.
   *
   * @param folder of the checkpoints; null for none
   */
  private List<End> train(@Nullable Path folder, long stop, Options options) throws Exception {
    List<End> ends = Collections.synchronizedList(new ArrayList<>());
    beginToMeet();
    clock.set(0);
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      onEachRank(
          source -> {
            try (PointerScope inside = new PointerScope();
                LoopNet net = new LoopNet(0);
                Checkpoints checkpoints =
                    Checkpoints.open(
                        folder == null ? temporary : folder,
                        CheckpointOptions.defaults().withKept(1))) {
              TrainingLoopBuilder<? extends ReplicatedModel> builder = source.loop(net);
              builder.state(net::addTo).loader(part -> LoopNet.loader(data, part)).seed(SEED);
              builder.settings.nanoTime = clock::get;
              options.set(builder, net);
              if (folder != null) {
                keep(builder, checkpoints);
              }
              run(builder, net, stop, ends);
            }
          });
    }
    return ends;
  }

  private <M extends ReplicatedModel> void run(
      TrainingLoopBuilder<M> builder, LoopNet net, long stop, List<End> ends)
      throws InterruptedException {
    TrainingLoop<M> loop = builder.build();
    try {
      Outcome outcome =
          loop.run(
              (step, model, batch) -> {
                if (step.number() == stop) {
                  meet();
                  throw new Stopped();
                }
                if (step.number() == late && step.rank() == step.worldSize() - 1) {
                  clock.set(HOUR.toNanos());
                }
                return net.loss(batch);
              },
              net.optimizer::step);
      ends.add(new End(outcome, loop.step(), net.digest()));
    } catch (Stopped | PeerLostException e) { // as a process that ends here
      assertThat(stop).as("%s", e).isNotEqualTo(NEVER);
    }
  }

  /** Trains to an end that all ranks share. */
  private End trained(@Nullable Path folder, Options options) throws Exception {
    if (folder == null) {
      forget();
    }
    List<End> ends = train(folder, NEVER, options);
    assertThat(ends).hasSize(ranks()).containsOnly(ends.get(0));
    return ends.get(0);
  }

  private Path folder(String name) throws IOException {
    forget();
    return Files.createTempDirectory(temporary, name);
  }

  private void requireSameEnd(End expected, Options options, long... stops) throws Exception {
    for (long stop : stops) {
      Path folder = folder("stopped");
      assertThat(train(folder, stop, options)).as("stopped in step %d", stop).isEmpty();
      assertThat(trained(folder, options)).as("stopped in step %d", stop).isEqualTo(expected);
    }
  }

  private void stopEarly(TrainingLoopBuilder<? extends ReplicatedModel> builder, LoopNet net) {
    builder
        .epochs(LOSSES.size())
        .evaluation(
            (model, step) -> {
              evaluated.add("epoch %d, rank %d".formatted(step.epoch(), step.rank()));
              return LOSSES.get((int) step.epoch());
            },
            EvaluationOptions.ofLoss().withPatience(2));
  }

  @Test
  void itStopsEarlyAfterTheSameStepWhereverItIsResumed() throws Exception {
    Path folder = folder("early");
    End end = trained(folder, this::stopEarly);
    assertThat(end.outcome()).isEqualTo(Outcome.STOPPED_EARLY);
    assertThat(end.step()).isEqualTo(LAST);
    assertThat(evaluated).hasSize(5 * ranks()).doesNotHaveDuplicates();
    assertThat(kept(folder)).containsExactly(LAST, BEST, BEST);
    assertThat(trained(folder, this::stopEarly)).isEqualTo(end);
    requireSameEnd(end, this::stopEarly, BEST + 2, LAST - 3);
  }

  /** The value of rank 0 counts, whatever the others have. */
  @Test
  void allRanksTakeTheMetricOfRankZero() throws Exception {
    End end =
        trained(
            null,
            (builder, net) ->
                builder
                    .epochs(LOSSES.size())
                    .evaluation(
                        (model, step) -> step.rank() == 0 ? LOSSES.get((int) step.epoch()) : 7,
                        EvaluationOptions.ofLoss().withPatience(2)));
    assertThat(end.outcome()).isEqualTo(Outcome.STOPPED_EARLY);
    assertThat(end.step()).isEqualTo(LAST);
  }

  /** The rate is halved after steps 6 and 9, before the stop. */
  @Test
  void aPlateauFollowsTheMetricWhereverItIsResumed() throws Exception {
    List<Double> rates = Collections.synchronizedList(new ArrayList<>());
    Options options =
        (builder, net) -> {
          Plateau plateau =
              Plateau.ofScore(PlateauOptions.defaults().withGamma(0.5).withPatience(0));
          LearningRate rate = LearningRate.perStep(net.optimizer, plateau);
          builder
              .epochs(2)
              .learningRate(rate)
              .evaluation(
                  (model, step) -> {
                    rates.add(rate.rate());
                    return step.number() == 3 ? 0.5 : 0.25;
                  },
                  EvaluationOptions.ofScore().withEverySteps(3).withPlateau(plateau));
        };
    End end = trained(null, options);
    assertThat(end.outcome()).isEqualTo(Outcome.COMPLETED);
    assertThat(rates).hasSize(3 * ranks()).containsOnly(0.01, 0.005);
    requireSameEnd(end, options, 4, 8);
  }

  @Test
  void itEndsAfterTheMostSteps() throws Exception {
    End end = trained(null, (builder, net) -> builder.maxSteps(12));
    assertThat(end.outcome()).isEqualTo(Outcome.COMPLETED);
    assertThat(end.step()).isEqualTo(12);
    requireSameEnd(end, (builder, net) -> builder.maxSteps(12), 7);
    Path folder = folder("seven");
    assertThat(trained(folder, (builder, net) -> builder.maxSteps(7)).step()).isEqualTo(7);
    assertThat(trained(folder, (builder, net) -> builder.maxSteps(12))).isEqualTo(end);
  }

  @Test
  void theStateInWhichTheMostStepsEndWithinAnEpochIsEvaluated() throws Exception {
    Options options =
        (builder, net) ->
            builder
                .maxSteps(7)
                .evaluation(
                    (model, step) -> {
                      evaluated.add("%d, rank %d".formatted(step.number(), step.rank()));
                      return step.number();
                    },
                    EvaluationOptions.ofScore());
    Path folder = folder("within");
    End end = trained(folder, options);
    assertThat(end.step()).isEqualTo(7);
    assertThat(kept(folder)).endsWith(7L);
    assertThat(trained(folder, options)).isEqualTo(end);
    assertThat(evaluated).hasSize(2 * ranks()).contains("5, rank 0", "7, rank 0");
    requireSameEnd(end, options, 3, 6);
  }

  @Test
  void anEpochWhoseLastStepIsTheLastOfAllIsComplete() throws Exception {
    List<Long> epochs = Collections.synchronizedList(new ArrayList<>());
    End end =
        trained(
            null,
            (builder, net) ->
                builder.maxSteps(10).afterEpoch((model, step) -> epochs.add(step.epoch())));
    assertThat(end.step()).isEqualTo(10);
    assertThat(epochs).hasSize(2 * ranks()).containsOnly(0L, 1L);
  }

  @Test
  void allRanksStopAfterTheSameStepWhenTheTimeOfOneIsOver() throws Exception {
    Options options = (builder, net) -> builder.epochs(4).maxTime(HOUR);
    End end = trained(null, options);
    assertThat(end.outcome()).isEqualTo(Outcome.COMPLETED);
    Path folder = folder("limited");
    late = 7;
    End stopped = trained(folder, options);
    late = NEVER;
    assertThat(stopped.outcome()).isEqualTo(Outcome.STOPPED);
    assertThat(stopped.step()).isBetween(8L, ranks() == 1 ? 8L : 9L);
    assertThat(trained(folder, options)).isEqualTo(end);
  }
}
