// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.torchfeed.checkpoint.Checkpoint;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.RankConsistency;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.openblas.presets.openblas_nolapack;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The training of one rank, with its measurements. */
final class Training {
  private final Settings settings;
  private final ProcessGroup group;
  private final TrainingDevice device;
  private final Net net;
  private final ReplicatedModel model;
  private final Optimizers optimizers;
  private final DistributedRandomSampler sampler;
  private final DataLoader loader;
  private final RunFiles files;
  private final RunCheckpoints checkpoints;
  private final long steps;
  private double firstBatchSeconds;

  private Training(
      Settings settings,
      ProcessGroup group,
      TrainingDevice device,
      Net net,
      ReplicatedModel model,
      Optimizers optimizers,
      DistributedRandomSampler sampler,
      DataLoader loader,
      RunFiles files,
      RunCheckpoints checkpoints,
      long steps) {
    this.settings = settings;
    this.group = group;
    this.device = device;
    this.net = net;
    this.model = model;
    this.optimizers = optimizers;
    this.sampler = sampler;
    this.loader = loader;
    this.files = files;
    this.checkpoints = checkpoints;
    this.steps = steps;
  }

  /**
   * Trains as the rank given by the environment.
   *
   * @param verified whether the launcher has verified {@code settings.data()}
   * @return the exit status
   */
  static int run(Settings settings, boolean verified) {
    LibtorchLoading.await();
    torch.set_num_threads(settings.threadsPerRank());
    // libtorch's own setting does not apply to OpenBLAS, which would use every core.
    openblas_nolapack.blas_set_num_threads(settings.threadsPerRank());
    // Before the data, which may need a download: an invalid environment fails at once.
    try (ProcessGroup all = join()) {
      TrainingDevice device = chosen(settings, all);
      try (ProcessGroup group = device.connected(all)) {
        train(settings, verified, group, device);
      }
    }
    return 0;
  }

  private static TrainingDevice chosen(Settings settings, ProcessGroup group) {
    requireRanks(settings, group);
    return TrainingDevice.of(settings.device(), group);
  }

  private static void train(
      Settings settings, boolean verified, ProcessGroup group, TrainingDevice device) {
    Path data =
        verified
            ? Objects.requireNonNull(settings.data())
            : MnistFolder.ofUser(System.err::println).locate(settings.data());
    manual_seed(settings.seed());
    MnistTensors train = MnistTensors.open(data, MnistFile.TRAIN_IMAGES, MnistFile.TRAIN_LABELS);
    MnistTensors test = MnistTensors.open(data, MnistFile.TEST_IMAGES, MnistFile.TEST_LABELS);
    try (Net net = new Net()) {
      DistributedRandomSampler sampler = DistributedRandomSampler.of(train.size(), group.part());
      // A digest includes the rank; the digest of rank 0 represents the run.
      String order =
          DistributedRandomSampler.of(train.size(), Part.rank(0).of(group.size())).digest();
      String digest = settings.augment() ? "augmented " + order : order;
      if (settings.accumulate() > 1) {
        digest = "accumulated " + settings.accumulate() + ' ' + digest;
      }
      if (settings.algorithm() != Algorithm.ALLREDUCE) {
        digest = settings.algorithm() + " " + digest;
      }
      if (settings.comm() != Comm.ALLREDUCE) {
        digest = settings.comm() + " " + digest;
      }
      RunPlan plan = new RunPlan(settings.seed(), group.size(), settings.batchSize(), digest);
      device.hold(net);
      try (DataLoader loader = loader(settings, device, train, sampler);
          ReplicatedModel model = replicated(net, group, settings);
          Optimizers optimizers = Optimizers.of(net, model, settings)) {
        TrainingState state = state(plan, net, model, optimizers);
        int done = resumed(settings, state, group);
        optimizers.resumed().run();
        RunFiles files = RunFiles.of(settings, group.rank() == 0, done);
        try (RunCheckpoints checkpoints = RunCheckpoints.open(settings.out(), state, group)) {
          new Training(
                  settings,
                  group,
                  device,
                  net,
                  model,
                  optimizers,
                  sampler,
                  loader,
                  files,
                  checkpoints,
                  settings.steps(loader.batches()))
              .epochs(done, test);
        }
      }
    }
  }

  /**
   * Returns all that a run needs to continue after an epoch exactly as if it had not stopped. It
   * holds no random state: dropout's stream and the sample order are functions of seed, rank and
   * epoch.
   */
  private static TrainingState state(
      RunPlan plan, Net net, ReplicatedModel model, Optimizers optimizers) {
    TrainingState.Builder state = TrainingState.builder();
    plan.addTo(state);
    state.module("model", net);
    optimizers.addTo().accept(state);
    return state.ofEachRank("exchange", model).build();
  }

  /** Continues a run, if it is to be resumed; returns the number of epochs that are done. */
  private static int resumed(Settings settings, TrainingState state, ProcessGroup group) {
    if (settings.resume() == null) {
      return 0;
    }
    Checkpoint last =
        RunCheckpoints.resume(
            settings.resume(),
            state,
            group.part(),
            step -> leastOf(group, step),
            line -> sayOnce(group, System.err, "warning: " + line));
    sayOnce(group, System.out, "Resuming after epoch " + last.step() + ": " + last.folder());
    return Math.toIntExact(last.step());
  }

  private static long leastOf(ProcessGroup group, long number) {
    return Arrays.stream(group.allGatherLongs(new long[] {number}))
        .mapToLong(each -> each[0])
        .min()
        .orElseThrow();
  }

  private static void sayOnce(ProcessGroup group, PrintStream to, String line) {
    if (group.rank() == 0) {
      to.println(line);
    }
  }

  private static ReplicatedModel replicated(Net net, ProcessGroup group, Settings settings) {
    return settings.algorithm() == Algorithm.ALLREDUCE
        ? DistributedDataParallel.wrap(
            net, group, DataParallelOptions.defaults().withExchange(settings.comm().exchange()))
        : ModelAveraging.wrap(net, group, settings.algorithm().averaging());
  }

  /** Checks the number of ranks again, which other launchers set. */
  private static void requireRanks(Settings settings, ProcessGroup group) {
    try {
      settings.algorithm().requireRanks("WORLD_SIZE", group.size());
    } catch (IllegalArgumentException e) {
      throw CommandException.wrongEnvironment(e);
    }
  }

  /** Joins the group given by the environment; reports an invalid environment to the user. */
  private static ProcessGroup join() {
    try {
      return ProcessGroup.join();
    } catch (IllegalArgumentException e) {
      throw CommandException.wrongEnvironment(e);
    } catch (IllegalStateException e) { // another process has this rank, or the port
      throw new CommandException(String.valueOf(e.getMessage()), e);
    }
  }

  private static DataLoader loader(
      Settings settings, TrainingDevice device, MnistTensors train, Sampler sampler) {
    if (settings.augment()) {
      return build(
          DataLoader.over(new ShiftedImages(train)).seed(settings.seed()),
          settings,
          device,
          sampler);
    }
    // The loader holds its own reference to the tensors' memory.
    try (Tensor images = train.images(0, train.size());
        Tensor labels = train.labels(0, train.size());
        TensorDataset dataset = TensorDataset.of(images, labels)) {
      return build(DataLoader.over(dataset), settings, device, sampler);
    }
  }

  private static DataLoader build(
      DataLoaderBuilder over, Settings settings, TrainingDevice device, Sampler sampler) {
    return over.sampler(sampler)
        .device(device.name())
        .batchSize(settings.batchSize())
        .workers(settings.workers())
        .build();
  }

  private void epochs(int done, MnistTensors test) {
    for (int epoch = done + 1; epoch <= settings.epochs(); epoch++) {
      EpochClock clock = trainEpoch(epoch);
      // Reads every parameter on every rank: a difference between ranks ends the run here.
      model.average();
      String digest = model.verifyReplicas();
      Evaluation evaluation = Evaluation.of(net, test, group, device);
      files.epochDone(clock.metrics(epoch, group, evaluation, overlapShare(), digest));
      checkpoints.save(epoch);
      files.plot();
    }
    if (done >= settings.epochs()) {
      files.say("Nothing to do: the checkpoint is already at epoch " + done);
    } else {
      files.say("loader of rank 0: " + loader.stats());
    }
    if (settings.bench().bareSteps() > 0) {
      files.bench(BareSteps.milliseconds(settings));
    }
  }

  private EpochClock trainEpoch(int epoch) {
    // Dropout's stream depends only on these, so a resumed run draws the same values.
    manual_seed(streamSeed(settings.seed(), group.rank(), epoch));
    EpochClock clock = new EpochClock(settings.batchSize() * group.size(), reductionNanos());
    // The order of libtorch's sampler depends on the epoch alone; PyTorch's adds the seed.
    long order = settings.seed() + epoch - 1;
    RankConsistency.beforeEpoch(sampler, order, settings.batchSize(), group::allGatherLongs);
    try (Batches batches = loader.epoch(order);
        Progress progress = files.progress(epoch, steps)) {
      while (clock.steps() < steps && batches.hasNext()) {
        Batch batch = batches.next();
        if (firstBatchSeconds == 0) {
          firstBatchSeconds = ProcessAge.seconds();
          files.firstBatch(firstBatchSeconds);
        }
        clock.step(step(batch, clock.steps()));
        progress.step(clock.rowsPerSecond(), clock.recentLoss());
      }
      clock.stop(batches.waitNanos(), reductionNanos());
    }
    return clock;
  }

  /** Returns the time waited for other ranks after the last gradients. */
  private long reductionNanos() {
    return model instanceof DistributedDataParallel averaged ? averaged.reductionNanos() : 0;
  }

  /** Returns the share of the communication that was hidden behind computation, in [0, 1]. */
  private double overlapShare() {
    return model instanceof DistributedDataParallel averaged ? averaged.stats().overlapShare() : 0;
  }

  /** Trains on a batch; with the last one of {@code --accumulate}, the parameters change. */
  @SuppressWarnings("try") // a scope works by being open
  private double step(Batch batch, long done) {
    long first = done - done % settings.accumulate();
    long together = Math.min(settings.accumulate(), steps - first);
    double[] value = new double[1];
    try (PointerScope scope = new PointerScope()) {
      if (done == first) {
        optimizers.training().zeroGrad();
      }
      Supplier<Tensor> share =
          () -> {
            Tensor loss = nll_loss(net.forward(batch.tensor(0)), batch.tensor(1));
            value[0] = loss.item_float();
            return together == 1 ? loss : loss.div(new Scalar((double) together));
          };
      if (done - first < together - 1) {
        model.accumulate(share);
      } else {
        model.step(share, optimizers.training()::step);
      }
    }
    return value[0];
  }

  /**
   * Mixes the three with the finaliser of SplitMix64, so that close values yield distant streams.
   */
  private static long streamSeed(long seed, int rank, int epoch) {
    long z = seed * 0x9E3779B97F4A7C15L + ((long) rank << 32) + epoch;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
