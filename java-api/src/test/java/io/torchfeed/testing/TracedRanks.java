// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.trace.TraceOptions;
import io.torchfeed.training.Ranks;
import io.torchfeed.training.TrainingLoop;
import java.nio.file.Path;
import java.time.Duration;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** A rank that waits, leaves out a call, or comes late, for tests of traces. */
public final class TracedRanks {
  /** The steps of {@code late}. */
  public static final int STEPS = 30;

  private static final int LATE = 1;

  /** Far above the pauses of a machine with several times as many threads as processors. */
  private static final long DELAY_MILLIS = 300;

  private static final int SKIPPED = 7;

  private TracedRanks() {}

  /**
   * Runs a rank.
   *
   * @param args {@code late FOLDER}, {@code skip} or {@code silent}
   */
  public static void main(String[] args) throws Exception {
    try (ProcessGroup group = ProcessGroup.join()) {
      switch (args[0]) {
        case "late" -> train(group, Path.of(args[1]));
        case "skip" -> leaveOut(group);
        default -> fallSilent(group);
      }
    }
  }

  /** Rank 1 is late in each tenth step. */
  private static void train(ProcessGroup group, Path folder) throws InterruptedException {
    try (PointerScope scope = new PointerScope();
        LinearImpl net = new LinearImpl(4, 2);
        SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.01));
        TensorDataset data = TensorDataset.of(torch.ones(4 * STEPS, 4), torch.ones(4 * STEPS, 2));
        DataLoader loader =
            DataLoader.over(data)
                .sampler(ShuffledSampler.of(data.size(), group.part(), 1))
                .batchSize(4 / group.size())
                .build();
        DistributedDataParallel model = DistributedDataParallel.wrap(net, group)) {
      TrainingLoop.of(Ranks.of(group), model)
          .state(all -> all.module("model", net).optimizer("optimizer", optimizer, net))
          .loader(loader)
          .trace(TraceOptions.to(folder))
          .build()
          .run(
              (step, own, batch) -> {
                if (group.rank() == LATE && step.number() % 10 == 5) {
                  delay();
                }
                return net.forward(batch.tensor(0)).sub(batch.tensor(1)).square().mean();
              },
              optimizer::step);
    }
  }

  private static void delay() {
    try {
      Thread.sleep(DELAY_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Rank 1 leaves out a barrier, and calls the next operation. */
  private static void leaveOut(ProcessGroup group) {
    try (PointerScope scope = new PointerScope()) {
      for (int i = 0; i < 10; i++) {
        sum(group);
        if (i != SKIPPED || group.rank() != LATE) {
          meet(group);
        }
      }
    }
  }

  private static void sum(ProcessGroup group) {
    Tensor numbers = torch.ones(3);
    group.allReduce(numbers, ReduceOp.SUM);
  }

  private static void meet(ProcessGroup group) {
    group.barrier();
  }

  /** Rank 1 does something else, for longer than the others wait. */
  private static void fallSilent(ProcessGroup all) throws InterruptedException {
    GroupOptions options = GroupOptions.ofTimeout(Duration.ofSeconds(5)); // too short for a start
    try (ProcessGroup group = all.subgroup(options, 0, LATE)) {
      meet(group);
      if (group.rank() == LATE) {
        doze();
      }
      meet(group);
    }
  }

  private static void doze() throws InterruptedException {
    Thread.sleep(60_000);
  }
}
