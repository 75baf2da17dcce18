// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipEndedException;
import io.torchfeed.distributed.membership.MembershipOptions;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.elastic.ElasticGroup;
import io.torchfeed.elastic.ElasticRanks;
import io.torchfeed.examples.mnist.faults.RankLog.End;
import io.torchfeed.training.TrainingLoop;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A rank of the campaign. It writes its {@link RankLog} to its standard output, and takes commands
 * from its standard input: {@code join}, {@code leave}, {@code throw PLACE}. It dies at once when
 * that ends, so that none outlives a campaign that is killed.
 */
final class FaultRank {
  /** The exit status after each end that is not the end of the training. */
  static final int EXPELLED = 3;

  static final int THREW = 4;
  private static final int ORPHANED = 5;

  /** Places in a step at which it throws. */
  static final int PLACES = 3;

  /** The exception that a command asks for. */
  private static final class AskedFor extends RuntimeException {
    private static final long serialVersionUID = 1L;

    AskedFor(String place) {
      super("asked to fail " + place);
    }
  }

  private final OutputStream log = new FileOutputStream(FileDescriptor.out);
  private final CountDownLatch joining = new CountDownLatch(1);
  private final RankArguments arguments;
  private final RankArguments.Training plan;
  private volatile int thrownAt = -1;
  private volatile @Nullable Membership membership;
  private int generation;

  private FaultRank(RankArguments arguments) {
    this.arguments = arguments;
    this.plan = arguments.training();
  }

  /**
   * Trains as one rank and ends the process.
   *
   * @param arguments of {@link RankArguments}
   */
  public static void main(String[] arguments) throws InterruptedException {
    System.exit(new FaultRank(RankArguments.parse(arguments)).run());
  }

  private synchronized void log(RankLog.Event event) {
    try {
      log.write((RankLog.format(event) + "\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private int ended(End end, String text, int status) {
    log(new RankLog.Ended(System.nanoTime(), end, text));
    return status;
  }

  private void obey() {
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        Membership own = membership;
        if (line.equals("join")) {
          joining.countDown();
        } else if (line.equals("unused")) {
          Runtime.getRuntime().halt(ended(End.UNUSED, "", 0));
        } else if (line.equals("leave") && own != null) {
          own.requestLeave();
        } else if (line.startsWith("throw ")) {
          thrownAt = Integer.parseInt(line.substring("throw ".length()));
        }
      }
    } catch (IOException e) {
      // as at the end of the input
    }
    Runtime.getRuntime().halt(ORPHANED);
  }

  private int run() throws InterruptedException {
    Thread commands = new Thread(this::obey, "commands");
    commands.setDaemon(true);
    commands.start();
    ElasticModel.useOneThread();
    try (NativeDataset data = ElasticModel.data(plan.data(), plan.plan().samples());
        ElasticModel model = ElasticModel.of(plan.plan().seed(), plan.learningRate());
        Checkpoints checkpoints = Checkpoints.open(arguments.checkpoints())) {
      ElasticModel.warmUp(plan.plan().globalBatch() / 2);
      ElasticGroup.rehearse();
      log(new RankLog.Ready(System.nanoTime()));
      joining.await();
      try (Membership own =
          Membership.join(
              "127.0.0.1",
              arguments.port(),
              MembershipOptions.defaults().withJob(Job.NAME).withName(arguments.name()))) {
        membership = own;
        return train(own, data, model, checkpoints);
      }
    }
  }

  private int train(Membership own, NativeDataset data, ElasticModel model, Checkpoints checkpoints)
      throws InterruptedException {
    ElasticRanks ranks = ElasticRanks.of(own);
    TrainingLoop<DistributedDataParallel> training =
        TrainingLoop.over(
                ranks,
                group -> {
                  DistributedDataParallel wrapped =
                      DistributedDataParallel.wrap(model.module(), group);
                  log(new RankLog.Wrapped(System.nanoTime()));
                  return wrapped;
                })
            .state(model::addTo)
            .loader(part -> plan.plan().loader(data, part))
            .epochs(plan.epochs())
            .seed(plan.plan().seed())
            .checkpoints(checkpoints, plan.everySteps())
            .whenChanged(step -> entered(ranks.world(), step.number(), model.digest()))
            .build();
    try {
      TrainingLoop.Outcome outcome =
          training.run(
              (step, wrapped, batch) -> loss(step.number(), model, batch),
              () -> update(training.step(), model));
      return ended(End.valueOf(outcome.name()), "", 0);
    } catch (AskedFor e) {
      return ended(End.THREW, e.getMessage() == null ? "" : e.getMessage(), THREW);
    } catch (MembershipEndedException e) {
      boolean isExpelled = e.reason() == MembershipEndedException.Reason.EXPELLED;
      return ended(isExpelled ? End.EXPELLED : End.FAILED, e.toString(), isExpelled ? EXPELLED : 1);
    } catch (RuntimeException e) {
      e.printStackTrace();
      return ended(End.FAILED, e.toString(), 1);
    }
  }

  private void entered(World world, long step, long digest) {
    generation = world.generation();
    log(
        new RankLog.Entered(
            System.nanoTime(),
            generation,
            step,
            world.rank(),
            world.size(),
            world.origin(),
            digest));
  }

  private Tensor loss(long step, ElasticModel model, Batch batch) {
    log(begun(step, batch));
    throwIfAsked(0, "before the step");
    Tensor loss = model.loss(batch);
    throwIfAsked(1, "after the forward pass");
    return loss;
  }

  private void update(long step, ElasticModel model) {
    model.update();
    log(new RankLog.Done(System.nanoTime(), generation, step, model.digest()));
    throwIfAsked(2, "after the step");
  }

  private void throwIfAsked(int place, String text) {
    if (thrownAt == place) {
      throw new AskedFor(text);
    }
  }

  private RankLog.Begun begun(long step, Batch batch) {
    List<Long> own = withoutPadding(batch);
    int padding = batch.indices().length - own.size();
    long seed = torch.getDefaultCPUGenerator().current_seed();
    return new RankLog.Begun(
        System.nanoTime(), generation, step, batch.epoch(), seed, own, padding);
  }

  /** Returns the indices of the samples that are not padding, in their order. */
  static List<Long> withoutPadding(Batch batch) {
    long[] indices = batch.indices();
    List<Long> own = new ArrayList<>();
    for (int i = 0; i < indices.length; i++) {
      if (!batch.isPadding(i)) {
        own.add(indices[i]);
      }
    }
    return own;
  }
}
