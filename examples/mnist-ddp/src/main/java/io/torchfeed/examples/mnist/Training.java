// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static java.util.Objects.requireNonNull;
import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.torchfeed.checkpoint.CheckpointException;
import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.CheckpointOptions;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.elastic.ElasticRanks;
import io.torchfeed.elastic.Generations;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.EpochClock;
import io.torchfeed.examples.common.Kernel;
import io.torchfeed.examples.common.OutputFolder;
import io.torchfeed.examples.common.Progress;
import io.torchfeed.examples.common.SeededSampler;
import io.torchfeed.examples.common.StepCurve;
import io.torchfeed.examples.common.mnist.MnistData;
import io.torchfeed.metric.Accuracy;
import io.torchfeed.metric.Evaluation;
import io.torchfeed.metric.Mean;
import io.torchfeed.metric.MetricCollection;
import io.torchfeed.sampler.Part;
import io.torchfeed.training.LoopEvent;
import io.torchfeed.training.LoopMonitor;
import io.torchfeed.training.Ranks;
import io.torchfeed.training.Step;
import io.torchfeed.training.TrainingLoop;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.stream.LongStream;
import org.bytedeco.openblas.presets.openblas_nolapack;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** The training of one rank: a {@link TrainingLoop}, with the measurements of its epochs. */
final class Training implements AutoCloseable {
  /**
   * The checkpoints of an elastic run, whose state is the same on all ranks, and their interval.
   */
  private static final String ELASTIC = "elastic-checkpoints";

  private static final int ELASTIC_STEPS = 100;

  private static final int LINES = 10; // of progress in an epoch
  private static final int TEST_BATCH = 500;

  private final Mean testLoss = Mean.create();
  private final Accuracy testAccuracy = Accuracy.create();
  private final Settings settings;
  private final Ranks ranks;
  private final TrainingDevice device;
  private final Path data;
  private final NativeDataset train;
  private final NativeDataset test;
  private final Net net;
  private final Exchange exchange;
  private @Nullable EpochClock clock;
  private MetricsFiles files;
  private Progress progress = Progress.silent();
  private boolean isFirstBatch = true;
  private long rowsOfEpoch;
  private long sentBefore;
  private long reductionBefore;

  private Training(Settings settings, Ranks ranks, TrainingDevice device) {
    this.settings = settings;
    this.ranks = ranks;
    this.device = device;
    data = Launch.data(settings);
    train = training(data);
    test = MnistData.test(data);
    torch.manual_seed(settings.seed);
    net = new Net();
    device.hold(net);
    exchange = Exchange.of(settings, net);
    files = filesAfter(0);
  }

  /** Trains as the rank of a group that the environment names. */
  static void asRank(Settings settings) throws InterruptedException {
    useThreads(settings.threadsPerRank());
    // Before the data, which may need a download: an invalid environment fails at once.
    try (ProcessGroup all = join()) {
      settings.algorithm.requireRanks("WORLD_SIZE", all.size()); // of other launchers
      TrainingDevice device = TrainingDevice.of(settings.device, all);
      try (ProcessGroup group = device.connected(all);
          Training training = new Training(settings, Ranks.of(group), device)) {
        if (group.rank() == 0) {
          OutputFolder.create(settings.out());
          RunStart.prepare(settings.out(), settings.resume(), Training::warn);
        }
        group.barrier();
        training.run(RunStart.FOLDER, Integer.MAX_VALUE, Long.MAX_VALUE);
      }
    } catch (CheckpointException e) {
      throw e.problem() == Problem.MISMATCH
          ? CommandException.wrongUse("Cannot resume from " + e.getMessage(), e)
          : new CommandException(String.valueOf(e.getMessage()), e);
    }
  }

  /** Trains as a rank of the elastic job that the environment names. */
  static void asElasticRank(Settings settings) throws InterruptedException {
    useThreads(settings.threadsPerRank());
    try (Membership membership = Membership.fromEnvironment();
        Generations generations = Launch.generations(settings.out())) {
      membership.leaveOnTermination();
      Ranks ranks = ElasticRanks.of(membership).withGenerations(generations);
      try (Training training = new Training(settings, ranks, TrainingDevice.cpu())) {
        training.run(ELASTIC, 3, ELASTIC_STEPS);
      }
    }
  }

  private static void useThreads(int threads) {
    torch.set_num_threads(threads);
    // libtorch's own setting does not apply to OpenBLAS, which would use every core
    openblas_nolapack.blas_set_num_threads(threads);
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

  private static void warn(String line) {
    System.err.println("warning: " + line);
  }

  /** Prints an event, unless {@link #begin} tells it. */
  private void note(LoopEvent event) {
    switch (event.kind()) {
      case SKIPPED, NOT_FINITE -> warn(event.text());
      case WAITING, CHANGED, EVALUATED, STOPPED -> System.out.println(event.text());
      case RESUMED, NOTHING_LEFT -> {}
    }
  }

  private void run(String folder, int kept, long everySteps) throws InterruptedException {
    CheckpointOptions options = CheckpointOptions.defaults().withKept(kept);
    try (Checkpoints checkpoints = Checkpoints.open(settings.out().resolve(folder), options)) {
      TrainingLoop.over(ranks, exchange::wrap)
          .state(this::addTo)
          .loader(this::loader)
          .epochs(settings.epochs)
          .accumulate(settings.accumulate)
          .seed(settings.seed)
          .checkpoints(checkpoints, everySteps)
          .monitor(monitor())
          .events(this::note)
          .whenChanged(this::begin)
          .afterEpoch(this::epochDone)
          .build()
          .run((step, model, batch) -> loss(step, batch), exchange::update);
    }
  }

  /** Writes curves; a generation that is run again saves nothing. */
  private LoopMonitor monitor() {
    long steps = settings.epochs * train.size() / ((long) globalBatch() * settings.accumulate);
    return settings.fromGeneration == null
        ? LoopMonitor.curves(settings.out(), StepCurve.interval(steps))
        : figures -> {};
  }

  private void addTo(TrainingState.Builder state) {
    if (ranks.areFixed()) {
      RunStart.addTo(state, settings, group().size(), plan());
    }
    exchange.addTo(state);
  }

  /** Returns all that the batches and steps depend on; a digest of a sampler includes its rank. */
  private String plan() {
    Part first = Part.rank(0).of(group().size());
    return "%s %s, accumulated %d%s, %s"
        .formatted(
            settings.algorithm,
            settings.comm,
            settings.accumulate,
            settings.augment ? ", augmented" : "",
            SeededSampler.of(train.size(), first, settings.seed).digest());
  }

  private ProcessGroup group() {
    return ranks.group().orElseThrow();
  }

  /** Returns the samples of a step of all ranks, however many an elastic job has. */
  private int globalBatch() {
    return settings.batchSize * (ranks.areFixed() ? group().size() : settings.ranks);
  }

  private NativeDataset training(Path folder) {
    NativeDataset all = MnistData.train(folder);
    if (settings.maxSteps == 0) {
      return all;
    }
    try (all) {
      long most = Math.min((long) settings.maxSteps * globalBatch(), all.size());
      return all.subset(LongStream.range(0, most).toArray());
    }
  }

  private DataLoader loader(Part part) {
    DataLoaderBuilder over =
        settings.augment
            ? DataLoader.over(ShiftedImages.read(data)).seed(settings.seed)
            : DataLoader.over(train);
    SeededSampler sampler = SeededSampler.of(train.size(), part, settings.seed);
    rowsOfEpoch = sampler.size();
    DataLoader loader =
        over.sampler(sampler)
            .device(device.name())
            .batchSize(globalBatch() / part.worldSize())
            .workers(settings.workers)
            .build();
    clock = EpochClock.start(loader);
    return loader;
  }

  private EpochClock clock() {
    return requireNonNull(clock, "the clock of a loader");
  }

  /** Begins with ranks that hold the state, perhaps from a checkpoint. */
  private void begin(Step step) {
    exchange.begin();
    if (!ranks.areFixed()) {
      return;
    }
    int done = Math.toIntExact(step.epoch());
    if (step.rank() == 0) {
      files = filesAfter(done);
    }
    if (done > 0) {
      say(step, "Resuming after epoch %d in %s", done, settings.out());
    }
    if (done >= settings.epochs) {
      say(step, "Nothing to do: the checkpoint is already at epoch %d", done);
    } else {
      beginEpoch(step, done + 1);
    }
  }

  private MetricsFiles filesAfter(int epochs) {
    return MetricsFiles.after(settings.out().resolve("metrics.csv"), epochs);
  }

  private void beginEpoch(Step step, int epoch) {
    if (step.rank() == 0) {
      String title = "epoch " + epoch + "/" + settings.epochs;
      progress = Progress.show(settings.progress.isBar(), title, rowsOfEpoch, System.out, LINES);
    }
    sentBefore = Kernel.sentBytes();
    clock().restart();
  }

  private static void say(Step step, String format, Object... arguments) {
    if (step.rank() == 0) {
      System.out.printf(Locale.ROOT, format + "%n", arguments);
    }
  }

  private Tensor loss(Step step, Batch batch) {
    if (isFirstBatch) {
      isFirstBatch = false;
      say(step, "process start to first batch: %.2f s", Kernel.processSeconds());
    }
    Tensor loss = nll_loss(net.forward(batch.tensor(0)), batch.tensor(1));
    EpochClock own = clock();
    own.count(batch.size(), loss.item_float());
    double rate = own.rows() * step.worldSize() / own.seconds();
    progress.at(
        own.rows(), String.format(Locale.ROOT, "%.0f rows/s, loss %.4f", rate, own.recentLoss()));
    return settings.accumulate == 1 ? loss : loss.div(new Scalar((double) settings.accumulate));
  }

  private void epochDone(ReplicatedModel model, Step step) {
    progress.close();
    EpochClock own = clock();
    double bytes = (Kernel.sentBytes() - sentBefore) / (double) Math.max(1, own.batches());
    EpochMeans means = EpochMeans.of(group(), own, reductionSeconds(model));
    // Reads every parameter on every rank: a difference between ranks ends the run here.
    String digest = model.verifyReplicas();
    evaluate();
    int epoch = Math.toIntExact(step.epoch() + 1);
    if (!ranks.areFixed()) {
      double percent = 100 * testAccuracy.compute();
      say(step, "epoch %d of %d ranks: test accuracy %.2f %%", epoch, step.worldSize(), percent);
      return;
    }
    if (step.rank() == 0) {
      EpochMetrics metrics =
          new EpochMetrics(
              epoch,
              means.trainLoss(),
              testLoss.compute(),
              testAccuracy.compute(),
              means.seconds(),
              own.rows() * step.worldSize() / means.seconds(),
              means.waitSeconds() / means.seconds(),
              means.reductionSeconds() / means.seconds(),
              digest,
              bytes / ranksOfMachine(), // which have counted the same bytes
              overlapShare(model));
      System.out.println(metrics.toText(settings.epochs));
      files.add(metrics);
      files.plot(step.number() / (double) epoch);
    }
    if (epoch < settings.epochs) {
      beginEpoch(step, epoch + 1);
    }
  }

  /** Evaluates each sample of the test set on one rank. */
  private void evaluate() {
    Evaluation.of(net, MetricCollection.of(Map.of("loss", testLoss, "accuracy", testAccuracy)))
        .run(
            group(),
            DataLoader.over(test).device(device.name()).batchSize(TEST_BATCH),
            batch -> {
              Tensor output = net.forward(batch.tensor(0));
              testLoss.update(nll_loss(output, batch.tensor(1)).item_float(), batch.size());
              testAccuracy.update(output, batch.tensor(1));
            });
  }

  /**
   * Returns the time of the epoch in which other ranks were waited for after the last gradients.
   */
  private double reductionSeconds(ReplicatedModel model) {
    long before = reductionBefore;
    if (model instanceof DistributedDataParallel averaged) {
      reductionBefore = averaged.reductionNanos();
    }
    return (reductionBefore - before) / 1e9;
  }

  /** Returns the share of the communication that was hidden behind computation, in [0, 1]. */
  private static double overlapShare(ReplicatedModel model) {
    return model instanceof DistributedDataParallel averaged ? averaged.stats().overlapShare() : 0;
  }

  /** Returns the number of ranks on this machine, as launchers tell it; by default all. */
  private int ranksOfMachine() {
    String local = System.getenv("LOCAL_WORLD_SIZE");
    return local == null ? group().size() : Integer.parseInt(local);
  }

  @Override
  public void close() {
    progress.close();
    exchange.close();
    net.close();
    test.close();
    train.close();
  }
}
