// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.internal.Failures;
import io.torchfeed.sampler.Part;
import io.torchfeed.training.steps.StepGuard;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A training of a single number by two ranks, which are threads of this process: after it, all code
 * that a rank needs to enter a generation has been loaded and run, before others wait for that.
 */
final class Rehearsal {
  private static final Logger LOGGER = System.getLogger("io.torchfeed.elastic");
  private static final String HOST = "127.0.0.1";
  private static final int RANKS = 2;
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static boolean isDone;

  private Rehearsal() {}

  /** Runs it, if this process has not; a failure is a warning, since training does not need it. */
  static synchronized void once() throws InterruptedException {
    if (isDone) {
      return;
    }
    isDone = true;
    try {
      run();
    } catch (ExecutionException | RuntimeException e) {
      LOGGER.log(
          Level.WARNING,
          "this process joins the others without having loaded what it needs: {0}",
          Failures.describe(e));
    }
  }

  /** Runs it, without a draw from libtorch's generators. */
  static void run() throws InterruptedException, ExecutionException {
    try (Master master = Master.listen(HOST)) {
      FutureTask<Void> other = new FutureTask<>(() -> train(Master.at(HOST, master.port()), 1));
      Thread thread = new Thread(other, "torchfeed-rehearsal");
      thread.setDaemon(true);
      thread.start();
      try {
        train(master, 0);
      } finally {
        thread.join();
      }
      other.get();
    }
  }

  private static Void train(Master master, int rank) {
    Part part = new Part(RANKS, rank);
    try (PointerScope scope = new PointerScope();
        ProcessGroup group = ProcessGroup.join(master, part, GroupOptions.ofTimeout(LIMIT))) {
      Module module = new Module();
      Tensor weight = torch.zeros(1);
      module.register_parameter("weight", weight, true);
      TrainingState state = TrainingState.builder().module("model", module).build();
      try (DistributedDataParallel model = DistributedDataParallel.wrap(module, group);
          TensorDataset data = TensorDataset.of(torch.zeros(RANKS));
          DataLoader loader = DataLoader.over(data).build();
          StepGuard guard = new StepGuard(module);
          Batches batches = loader.epoch(0)) {
        group.allGatherLongs(new long[] {rank});
        StateTransfer.broadcast(state, group, 0);
        guard.begin();
        model.backward(weight.mul(batches.next().tensor(0)).sum());
        group.barrier();
      }
    }
    return null;
  }
}
