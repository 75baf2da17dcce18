// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.Uneven;
import io.torchfeed.distributed.training.UnevenInputs;
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
import org.junit.jupiter.api.Test;

/**
 * A {@code TrainingLoop} over the rows of a DataFrame ends with the same bits as the statements by
 * hand, also if a rank is lost in some step and the stage is repeated. The second partition has one
 * row in three, so that its rank is without batches for most of an epoch. {@code BarrierLoopTest}
 * has the contract of all sources of ranks.
 */
class RepeatedLoopTest {
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
   * @param lostIn the step in which rank 0 is lost, in the first attempt
   */
  private record Program(String initial, long lostIn) implements RankTask<byte[]> {
    @Override
    public byte[] train(RankContext context, RankRows rows) throws Exception {
      try (LineNet net = new LineNet();
          SGD optimizer = LineTask.optimizer(net);
          DataLoader loader = loader(rows);
          DistributedDataParallel model = wrapped(net, context)) {
        TrainingLoop.of(context.ranks(), model)
            .state(all -> all.module("model", net).optimizer("optimizer", optimizer, net))
            .loader(loader)
            .epochs(EPOCHS)
            .checkpointEvery(1)
            .build()
            .run(
                (step, trained, batch) -> {
                  if (step.number() == lostIn && step.rank() == 0 && context.attempt() == 0) {
                    throw new PeerLostException(
                        "test", Duration.ZERO, OptionalInt.of(1), "the test", null);
                  }
                  return net.loss(batch, 1, 2);
                },
                optimizer::step);
        return ModelBytes.of(net);
      }
    }

    DistributedDataParallel wrapped(LineNet net, RankContext context) {
      ModelBytes.load(Base64.getDecoder().decode(initial), net);
      return DistributedDataParallel.wrap(net, context.group());
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
          DataLoader loader = loader(rows);
          DistributedDataParallel model = program.wrapped(net, context)) {
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
          try (UnevenInputs inputs = model.unevenInputs(Uneven.passes(loader.batches()));
              Batches batches = loader.epoch(epoch)) {
            while (batches.hasNext()) {
              optimizer.zero_grad();
              try (PointerScope scope = new PointerScope()) {
                model.backward(net.loss(batches.next(), 1, 2));
              }
              optimizer.step();
            }
            inputs.shadow(optimizer::step);
          }
        }
        return ModelBytes.of(net);
      }
    }
  }

  /** Of ten steps of an epoch, both ranks have batches for four. */
  @Test
  void itEndsAsByHandAlsoAfterARankIsLost() {
    String initial;
    try (LineNet net = new LineNet()) {
      initial = Base64.getEncoder().encodeToString(ModelBytes.of(net));
    }
    Program unbroken = new Program(initial, NEVER);
    List<byte[]> expected = LineTask.ranks(points()).train(new ByHand(unbroken));
    assertThat(expected.get(1)).isEqualTo(expected.get(0));
    assertThat(LineTask.ranks(points()).train(unbroken)).containsExactlyElementsOf(expected);
    for (long stop : new long[] {4, 10}) {
      String path = TestSpark.folder("checkpoints").toUri().toString();
      assertThat(LineTask.ranks(points()).checkpoints(path).train(new Program(initial, stop)))
          .as("stopped in step %d", stop)
          .containsExactlyElementsOf(expected);
    }
  }
}
