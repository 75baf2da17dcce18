// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.amp.Autocast;
import io.torchfeed.amp.GradScaler;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.NumberedStream;
import io.torchfeed.training.TrainingLoop.Outcome;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The contract of {@link TrainingLoop} for a source of ranks: it ends with the same bits as {@link
 * LoopByHand}, also if it is stopped in any step and continues from its last checkpoint.
 *
 * <p>Each of these changes of the loop was seen to fail here: a step counted twice ({@code step +=
 * 2} in {@code Progress.commit}), a learning rate of the step before, a position saved a step late
 * ({@code IndexBatches.commit} with {@code position() - 1}), a step without {@code unevenInputs} in
 * {@code AccumulatedStep}, whose buffers are then copied from a rank without a batch, gradients
 * that are not cleared, a seed that is the same in each step, and in {@link ElasticLoopTest}
 * buffers that are not undone ({@code StepGuard.completesOrUndoes} without its {@code copy}).
 */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class TrainingLoopContract extends LoopLimitsContract {
  static final int EPOCHS = 2;

  /** The shards of rank 0 of two end before the others. No batch of four has a single row. */
  private static final NumberedStream STREAM = new NumberedStream(List.of(7, 30, 14, 26, 20));

  /** A place in a step. */
  enum Stop {
    /** Before the forward pass, once all ranks are in the step: the one before is complete. */
    TOGETHER,

    /** Before the forward pass of a rank; all ranks gather before each step of a stream. */
    ALONE,

    /** After the gradients, which ranks without a batch reach, too. */
    UPDATE
  }

  /**
   * A training.
   *
   * @param loader opens the data of a rank
   * @param stop where it is stopped in a step
   * @param accumulate the batches of a step
   * @param isMixed whether the precision is mixed
   * @param dropped the share of values that are dropped
   */
  record Program(
      Function<Part, DataLoader> loader,
      Stop stop,
      int accumulate,
      boolean isMixed,
      double dropped) {}

  private final List<Long> updated = Collections.synchronizedList(new ArrayList<>());
  private final List<Outcome> ends = Collections.synchronizedList(new ArrayList<>());
  private volatile long asked = NEVER;
  private @Nullable Path folder;

  TrainingLoopContract(Path temporary) {
    super(temporary);
  }

  @Override
  final boolean isAsked() {
    return asked != NEVER;
  }

  /** Returns a training in which a rank has fewer batches than another one. */
  Program uneven() {
    return new Program(
        part -> DataLoader.over(STREAM).part(part).batchSize(4).build(),
        Stop.ALONE,
        1,
        false,
        dropped());
  }

  private double dropped() {
    return ranks() == 1 ? 0.2 : 0;
  }

  private Program indices(TensorDataset data, int accumulate, boolean isMixed) {
    return new Program(
        part ->
            DataLoader.over(data)
                .sampler(ShuffledSampler.of(LoopNet.SAMPLES, part, 42))
                .batchSize(LoopNet.GLOBAL_BATCH / part.worldSize())
                .build(),
        Stop.TOGETHER,
        accumulate,
        isMixed,
        dropped());
  }

  /** Trains until a step; returns the states of the ranks. */
  private List<String> train(Program program, long stop) throws Exception {
    List<String> digests = Collections.synchronizedList(new ArrayList<>());
    updated.clear();
    ends.clear();
    beginToMeet();
    onEachRank(
        source -> {
          try (PointerScope scope = new PointerScope();
              LoopNet net = new LoopNet(program.dropped());
              GradScaler scaler = GradScaler.create();
              Checkpoints checkpoints =
                  Checkpoints.open(folder == null ? temporary.resolve("none") : folder)) {
            run(source.loop(net), program, net, scaler, checkpoints, stop);
            digests.add(net.digest());
          }
        });
    return digests;
  }

  private <M extends ReplicatedModel> void run(
      TrainingLoopBuilder<M> builder,
      Program program,
      LoopNet net,
      GradScaler scaler,
      Checkpoints checkpoints,
      long stop)
      throws InterruptedException {
    builder
        .state(
            all -> {
              net.addTo(all);
              all.part("scaler", scaler);
            })
        .loader(program.loader())
        .epochs(EPOCHS)
        .accumulate(program.accumulate())
        .learningRate(rate(net))
        .seed(SEED);
    if (folder != null) {
      keep(builder, checkpoints);
    }
    TrainingLoop<M> loop = builder.build();
    try {
      Outcome end =
          loop.run(
              (step, model, batch) -> {
                if (step.number() == asked && step.rank() == step.worldSize() - 1) {
                  loop.requestStop();
                }
                if (step.number() == stop && program.stop() != Stop.UPDATE) {
                  if (program.stop() == Stop.TOGETHER) {
                    meet();
                  }
                  throw new Stopped();
                }
                return loss(program, net, scaler, batch);
              },
              () -> {
                if (loop.step() == stop) {
                  throw new Stopped();
                }
                updated.add(loop.step());
                update(program, net, scaler);
              });
      ends.add(end);
    } catch (Stopped | PeerLostException e) { // as a process that ends here
      assertThat(stop).as("%s", e).isNotEqualTo(NEVER);
    }
  }

  /** Returns a rate that differs in each step. */
  static LearningRate rate(LoopNet net) {
    return LearningRate.perStep(net.optimizer, Schedule.cosine(12, 0.1).withWarmUp(3));
  }

  static Tensor loss(Program program, LoopNet net, GradScaler scaler, Batch batch) {
    if (!program.isMixed()) {
      return net.loss(batch);
    }
    try (Autocast scope = Autocast.on("cpu", DType.BFLOAT16)) {
      return scaler.scale(net.loss(batch));
    }
  }

  static void update(Program program, LoopNet net, GradScaler scaler) {
    if (program.isMixed()) {
      scaler.step(net.optimizer);
      scaler.update();
    } else {
      net.optimizer.step();
    }
  }

  private List<String> byHand(Program program) throws Exception {
    return new LoopByHand(program, ranks()).train();
  }

  /** The loop ends as the one by hand, at once and if it is stopped before each of some steps. */
  private void requireBits(Program program, long... stops) throws Exception {
    List<String> expected = byHand(program);
    forget();
    assertThat(expected).hasSize(ranks()).containsOnly(expected.get(0));
    assertThat(train(program, NEVER)).isEqualTo(expected);
    List<Long> all = updates();
    for (long stop : stops) {
      folder = Files.createDirectory(temporary.resolve("stop-" + stop));
      forget();
      train(program, stop);
      List<Long> seen = new ArrayList<>(updates());
      assertThat(seen).as("steps before step %d", stop).allMatch(step -> step < stop);
      assertThat(train(program, NEVER)).as("stopped in step %d", stop).isEqualTo(expected);
      seen.addAll(updates());
      assertThat(seen).as("steps, stopped in step %d", stop).isEqualTo(all);
    }
  }

  /**
   * The loop ends after the step in which its last rank asks for it, or after the next one, and
   * then as the one by hand.
   */
  final void requirePlannedStops(Program program, long... steps) throws Exception {
    List<String> expected = byHand(program);
    folder = null;
    forget();
    assertThat(train(program, NEVER)).isEqualTo(expected);
    List<Long> all = updates();
    for (long step : steps) {
      folder = Files.createTempDirectory(temporary, "asked-" + step);
      forget();
      asked = step;
      train(program, NEVER);
      asked = NEVER;
      assertThat(ends).as("asked in step %d", step).hasSize(ranks()).containsOnly(Outcome.STOPPED);
      List<Long> seen = new ArrayList<>(updates());
      long last = seen.get(seen.size() - 1);
      assertThat(last).isBetween(step, ranks() == 1 ? step : step + 1);
      assertThat(seen).as("of each rank").filteredOn(each -> each == last).hasSize(ranks());
      assertThat(train(program, NEVER)).as("asked in step %d", step).isEqualTo(expected);
      assertThat(ends).containsOnly(Outcome.COMPLETED);
      seen.addAll(updates());
      assertThat(seen).as("steps, asked in step %d", step).isEqualTo(all);
    }
  }

  final Program indices(TensorDataset data) {
    return indices(data, 1, false);
  }

  /** Returns the steps of all ranks. */
  private List<Long> updates() {
    return updated.stream().sorted().toList();
  }

  @Test
  void itEndsAsTheLoopByHandWhereverItIsStopped() throws Exception {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      int steps = EPOCHS * LoopNet.SAMPLES / LoopNet.GLOBAL_BATCH;
      requireBits(indices(data, 1, false), stops(steps));
    }
  }

  /** Returns all steps but the first, or if ranks must meet each time, those around two ends. */
  long[] stops(int steps) {
    return ranks() == 1 ? LongStream.range(1, steps).toArray() : new long[] {1, 4, 5, 9};
  }

  /** Of the five batches of an epoch, the last one is a step. */
  @Test
  void itAccumulatesAsByHand() throws Exception {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      requireBits(indices(data, 2, false), 2, 4);
    }
  }

  @Test
  void itTrainsInMixedPrecisionAsByHand() throws Exception {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      requireBits(indices(data, 1, true), 3);
    }
  }

  /** Of two ranks, the first one has no batches left while the other one continues. */
  @Test
  void itTakesUnevenInputsAsByHand() throws Exception {
    requireBits(uneven(), 9, 13);
  }
}
