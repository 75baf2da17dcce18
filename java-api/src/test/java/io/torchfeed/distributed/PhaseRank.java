// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.distributed.training.AveragingAlgorithm;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DataParallelOptions.BufferMode;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.GradientExchange;
import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.sampler.Part;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The ranks of {@link PhaseFaultTest}: they train, and call a function when they reach a phase. */
public final class PhaseRank {
  static final int RANKS = 3;

  /** The operation in which the others wait for a rank that stops. */
  enum Phase {
    JOIN,
    SUBGROUP,
    FIRST_BACKWARD,
    /** The forming of new buckets, which precedes the second backward pass. */
    REBUILD,
    /** An exchange of gradients, in a thread and over a group of its own. */
    EXCHANGE,
    /** The copying of buffers before a forward pass; from the rank that stops. */
    BUFFERS,
    /** The averaging of weights. */
    AVERAGING;

    /** Returns the rank that stops. */
    int victim() {
      return this == BUFFERS ? 0 : RANKS - 1;
    }
  }

  private static final int STEPS = 4;

  private PhaseRank() {}

  /** A layer with buffers. */
  private static final class Net extends Module {
    private final LinearImpl linear;
    private final BatchNorm1dImpl norm;

    Net() {
      linear = register_module("linear", new LinearImpl(8, 64));
      norm = register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(64)));
    }

    Tensor loss() {
      Tensor rows = torch.ones(16, 8);
      return norm.forward(linear.forward(rows)).pow(new Scalar(2)).mean();
    }
  }

  /**
   * Runs the ranks that fail, a thread for each phase: {@code signal goFile phase=port...}. A
   * signal is sent to the process itself when all threads have reached their phase.
   */
  public static void main(String[] args) throws Exception {
    String signal = args[0];
    List<String> groups = List.of(args).subList(2, args.length);
    new Net().loss().backward(); // loads libtorch
    System.out.println("ready");
    while (!Files.exists(Path.of(args[1]))) {
      Thread.sleep(5);
    }
    CyclicBarrier reached = new CyclicBarrier(groups.size(), () -> signal(signal));
    Runnable strike = signal.equals("THROW") ? PhaseRank::fail : () -> await(reached);
    for (String group : groups) {
      String[] words = group.split("=", -1);
      Phase phase = Phase.valueOf(words[0]);
      Master master = Master.at("127.0.0.1", Integer.parseInt(words[1]));
      Part part = new Part(RANKS, phase.victim());
      Duration timeout = Duration.ofMinutes(1);
      new Thread(() -> run(phase, master, part, timeout, joined -> {}, strike), words[0]).start();
    }
  }

  private static void await(CyclicBarrier reached) {
    try {
      reached.await();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static void fail() {
    throw new UnsupportedOperationException("a user's error");
  }

  private static void signal(String name) {
    try {
      String self = Long.toString(ProcessHandle.current().pid());
      new ProcessBuilder("sh", "-c", "kill -" + name + " " + self).start().waitFor();
      Thread.sleep(60_000); // until the signal arrives
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  static void run(
      Phase phase,
      Master master,
      Part part,
      Duration timeout,
      Consumer<ProcessGroup> joined,
      Runnable strike) {
    if (phase == Phase.JOIN) {
      strike.run();
    }
    try (ProcessGroup group = ProcessGroup.join(master, part, GroupOptions.ofTimeout(timeout));
        PointerScope scope = new PointerScope()) {
      joined.accept(group);
      switch (phase) {
        case JOIN -> group.barrier();
        case SUBGROUP -> {
          strike.run();
          group.subgroup(IntStream.range(0, RANKS).toArray()).close();
        }
        case AVERAGING -> average(group, strike);
        default -> train(phase, group, strike);
      }
    }
  }

  private static void train(Phase phase, ProcessGroup group, Runnable strike) {
    DataParallelOptions options =
        switch (phase) {
          case EXCHANGE -> DataParallelOptions.defaults().withExchange(GradientExchange.byteGrad());
          case BUFFERS -> DataParallelOptions.defaults().withBufferMode(BufferMode.BEFORE_FORWARD);
          default -> DataParallelOptions.defaults();
        };
    int last =
        switch (phase) {
          case FIRST_BACKWARD -> 0;
          case REBUILD -> 1;
          default -> 2;
        };
    Net net = new Net();
    try (var model = DistributedDataParallel.wrap(net, group, options)) {
      for (int step = 0; step < STEPS; step++) {
        if (step == last && phase == Phase.BUFFERS) {
          strike.run();
        }
        model.beforeForward();
        Tensor loss = net.loss();
        if (step == last && phase != Phase.BUFFERS) {
          strike.run();
        }
        model.backward(loss);
      }
    }
  }

  private static void average(ProcessGroup group, Runnable strike) {
    Net net = new Net();
    var algorithm = AveragingAlgorithm.decentralized();
    try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm)) {
      for (int step = 0; step < STEPS; step++) {
        if (step == 2) {
          strike.run();
        }
        model.step(() -> net.loss().backward(), () -> {});
      }
    }
  }
}
