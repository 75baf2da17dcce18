// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.torchfeed.distributed.Collectives;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.distributed.training.DistributedDataParallel;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A Java rank of {@code collectives}: reads one task per line, repeats it, and answers with the
 * nanoseconds of each repetition. A task is {@code all-reduce checked|unchecked ELEMENTS COUNT} or
 * {@code train bare|ddp COUNT}.
 */
public final class CollectivesRank {
  private static final int BATCH = 64;

  private final ProcessGroup group;
  private final MnistNet bare = new MnistNet();
  private final MnistNet wrapped = new MnistNet();
  private final SGD bareOptimizer = optimizer(bare);
  private final SGD wrappedOptimizer = optimizer(wrapped);
  private final DistributedDataParallel model;
  private final Tensor images = torch.randn(BATCH, 1, 28, 28);
  private final Tensor labels =
      torch.randint(0, 10, new long[] {BATCH}, new TensorOptions(ScalarType.Long));

  private CollectivesRank(ProcessGroup group) {
    this.group = group;
    model = DistributedDataParallel.wrap(wrapped, group);
  }

  public static void main(String[] args) throws IOException {
    BufferedReader tasks =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (ProcessGroup group = ProcessGroup.join()) {
      CollectivesRank rank = new CollectivesRank(group);
      for (String line = tasks.readLine(); line != null; line = tasks.readLine()) {
        String times =
            Arrays.stream(rank.perform(line.split(" ")))
                .mapToObj(String::valueOf)
                .collect(Collectors.joining(" "));
        System.out.println("done " + times);
      }
      rank.model.close();
    }
  }

  private static SGD optimizer(MnistNet net) {
    SGDOptions options = new SGDOptions(0.03);
    options.momentum().put(0.9);
    return new SGD(net.parameters(), options);
  }

  private long[] perform(String[] words) {
    group.barrier();
    return switch (words[0]) {
      case "all-reduce" ->
          allReduce(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]));
      case "train" -> {
        boolean isReduced = words[1].equals("ddp");
        yield timed(Integer.parseInt(words[2]), isReduced ? this::reducedStep : this::bareStep);
      }
      default -> throw new IllegalArgumentException("unknown task '" + words[0] + "'");
    };
  }

  private long[] allReduce(String mode, int elements, int count) {
    Collectives calls = mode.equals("checked") ? group : group.unchecked();
    try (Tensor tensor = torch.zeros(elements)) {
      return timed(count, () -> calls.allReduce(tensor, ReduceOp.SUM));
    }
  }

  private static long[] timed(int count, Runnable body) {
    long[] times = new long[count];
    for (int i = 0; i < count; i++) {
      long start = System.nanoTime();
      body.run();
      times[i] = System.nanoTime() - start;
    }
    return times;
  }

  @SuppressWarnings("try") // a scope works by being open
  private void bareStep() {
    try (PointerScope scope = new PointerScope()) {
      bareOptimizer.zero_grad();
      nll_loss(bare.forward(images), labels).backward();
      bareOptimizer.step();
    }
  }

  @SuppressWarnings("try") // a scope works by being open
  private void reducedStep() {
    try (PointerScope scope = new PointerScope()) {
      wrappedOptimizer.zero_grad();
      model.backward(nll_loss(wrapped.forward(images), labels));
      wrappedOptimizer.step();
    }
  }
}
