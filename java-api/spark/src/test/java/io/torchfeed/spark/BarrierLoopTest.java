// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.amp.Autocast;
import io.torchfeed.amp.GradScaler;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.Uneven;
import io.torchfeed.distributed.training.UnevenInputs;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.training.TrainingLoop;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.OptionalInt;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;

/**
 * The contract of {@code TrainingLoop} for the ranks of a barrier stage: the same bits as the
 * statements by hand, also if a rank is lost in some step and the stage is repeated. The second
 * partition has one row in three, so that its rank is without batches for most of an epoch.
 */
class BarrierLoopTest {
  private static final int ROWS = 100;
  private static final int EPOCHS = 2;
  private static final long NEVER = Long.MAX_VALUE;

  private static Dataset<Row> points() {
    return TestSpark.points(TestSpark.local(), ROWS, 2).filter("id < 50 or id % 3 = 0");
  }

  /**
   * A training.
   *
   * @param initial the parameters at the start, in Base64: ranks of one JVM share random numbers
   * @param accumulate the batches of a step
   * @param isMixed whether the precision is mixed
   * @param lostIn the step in which rank 0 is lost, in the first attempt
   */
  private record Program(String initial, int accumulate, boolean isMixed, long lostIn)
      implements RankTask<byte[]> {
    @Override
    public byte[] train(RankContext context, RankRows rows) throws Exception {
      try (LineNet net = new LineNet();
          SGD optimizer = LineTask.optimizer(net);
          GradScaler scaler = GradScaler.create();
          DataLoader loader = loader(rows);
          DistributedDataParallel model = wrapped(net, context)) {
        TrainingLoop.of(context.ranks(), model)
            .state(
                all ->
                    all.module("model", net)
                        .optimizer("optimizer", optimizer, net)
                        .part("scaler", scaler))
            .loader(loader)
            .epochs(EPOCHS)
            .accumulate(accumulate)
            .checkpointEvery(1)
            .build()
            .run(
                (step, trained, batch) -> {
                  if (step.number() == lostIn && step.rank() == 0 && context.attempt() == 0) {
                    throw new PeerLostException(
                        "test", Duration.ZERO, OptionalInt.of(1), "the test", null);
                  }
                  return loss(net, scaler, batch);
                },
                () -> update(optimizer, scaler));
        return ModelBytes.of(net);
      }
    }

    DistributedDataParallel wrapped(LineNet net, RankContext context) {
      ModelBytes.load(Base64.getDecoder().decode(initial), net);
      return DistributedDataParallel.wrap(net, context.group());
    }

    Tensor loss(LineNet net, GradScaler scaler, Batch batch) {
      if (!isMixed) {
        return net.loss(batch, 1, 2);
      }
      try (Autocast scope = Autocast.on("cpu", DType.BFLOAT16)) {
        return scaler.scale(net.loss(batch, 1, 2));
      }
    }

    void update(SGD optimizer, GradScaler scaler) {
      if (isMixed) {
        scaler.step(optimizer);
        scaler.update();
      } else {
        optimizer.step();
      }
    }
  }

  private static DataLoader loader(RankRows rows) {
    return rows.loader().batchSize(5).sampler(ShuffledSampler.of(rows.size(), 42)).build();
  }

  /**
   * The statements by hand.
   *
   * @param program of the loop
   */
  private record ByHand(Program program) implements RankTask<byte[]> {
    @Override
    public byte[] train(RankContext context, RankRows rows) {
      try (LineNet net = new LineNet();
          SGD optimizer = LineTask.optimizer(net);
          GradScaler scaler = GradScaler.create();
          DataLoader loader = loader(rows);
          DistributedDataParallel model = program.wrapped(net, context)) {
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
          long steps = (loader.batches() + program.accumulate() - 1) / program.accumulate();
          try (UnevenInputs inputs = model.unevenInputs(Uneven.passes(steps));
              Batches batches = loader.epoch(epoch)) {
            while (batches.hasNext()) {
              optimizer.zero_grad();
              step(net, scaler, model, batches);
              program.update(optimizer, scaler);
            }
            inputs.shadow(() -> program.update(optimizer, scaler));
          }
        }
        return ModelBytes.of(net);
      }
    }

    @SuppressWarnings("try") // a scope works by being open
    private void step(
        LineNet net, GradScaler scaler, DistributedDataParallel model, Batches batches) {
      try (PointerScope scope = new PointerScope()) {
        for (int i = 1; i <= program.accumulate() && batches.hasNext(); i++) {
          Tensor loss = program.loss(net, scaler, batches.next());
          if (i == program.accumulate() || !batches.hasNext()) {
            model.backward(loss);
          } else {
            try (var accumulating = model.noSync()) {
              model.backward(loss);
            }
          }
        }
      }
    }
  }

  private static void requireBits(int accumulate, boolean isMixed, long... stops) {
    String initial;
    try (LineNet net = new LineNet()) {
      initial = Base64.getEncoder().encodeToString(ModelBytes.of(net));
    }
    Program unbroken = new Program(initial, accumulate, isMixed, NEVER);
    List<byte[]> expected = LineTask.ranks(points()).train(new ByHand(unbroken));
    assertThat(expected.get(1)).isEqualTo(expected.get(0));
    assertThat(LineTask.ranks(points()).train(unbroken)).containsExactlyElementsOf(expected);
    for (long stop : stops) {
      String path = TestSpark.folder("checkpoints").toUri().toString();
      Program stopped = new Program(initial, accumulate, isMixed, stop);
      assertThat(LineTask.ranks(points()).checkpoints(path).train(stopped))
          .as("stopped in step %d", stop)
          .containsExactlyElementsOf(expected);
    }
  }

  /** Of ten steps of an epoch, both ranks have batches for four. */
  @Test
  void itEndsAsTheLoopByHandWhereverItIsStopped() {
    requireBits(1, false, 4, 10);
  }

  @Test
  void itAccumulatesAsByHand() {
    requireBits(3, false);
  }

  @Test
  void itTrainsInMixedPrecisionAsByHand() {
    requireBits(1, true, 3);
  }
}
