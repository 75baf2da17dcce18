// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.sampler.Part;
import io.torchfeed.training.TrainingLoop;
import io.torchfeed.training.TrainingLoop.Outcome;
import io.torchfeed.training.TrainingLoopBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.jspecify.annotations.Nullable;

/** A coordinator and ranks that train with {@link ElasticRanks}; threads are ranks. */
final class ElasticThreads implements AutoCloseable {
  final BlockingQueue<CoordinatorEvent> events = new LinkedBlockingQueue<>();
  final Coordinator coordinator;
  private final Queue<String> lines = new ConcurrentLinkedQueue<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  ElasticThreads(int min, int max) {
    this(min, max, Duration.ofSeconds(60));
  }

  /**
   * Starts a coordinator.
   *
   * @param start how long the first generation waits for more ranks than the minimum
   */
  ElasticThreads(int min, int max, Duration start) {
    CoordinatorOptions options =
        CoordinatorOptions.of(min, max).withSilence(Duration.ofSeconds(60)).withStart(start);
    coordinator = Coordinator.listen("127.0.0.1", 0, options.withEvents(events::add));
  }

  ElasticLog log() {
    return new ElasticLog(lines);
  }

  void await(CoordinatorEvent.Kind kind) throws InterruptedException {
    while (events.take().kind() != kind) {}
  }

  @FunctionalInterface
  interface Action {
    void at(long step);
  }

  /** A fault of a user's program. */
  static final class UserException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    UserException() {
      super("of the user");
    }
  }

  /**
   * A step that all ranks begin before one of them fails in it. Else another one might still be in
   * the step before it, and lose that: the rank that fails takes the end of that step with it.
   */
  static final class Meeting {
    private final long step;
    private final int others;
    private final Set<String> begun = ConcurrentHashMap.newKeySet();

    Meeting(long step, int others) {
      this.step = step;
      this.others = others;
    }

    /** Notes that a rank is in a step. */
    void in(long current, String rank) {
      if (current == step) {
        begun.add(rank);
      }
    }

    /** Waits until all others have begun the step. */
    void await() {
      while (begun.size() < others) {
        if (Thread.currentThread().isInterrupted()) {
          throw new IllegalStateException("interrupted; only " + begun + " have begun " + step);
        }
        Thread.onSpinWait();
      }
    }
  }

  /** Waits for another rank. */
  static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Starts a rank, whose action it sets, and another one while the first is in a step; returns
   * both.
   */
  List<Future<Outcome>> joinLater(Rank first, Rank other, long inStep) throws InterruptedException {
    CountDownLatch reached = new CountDownLatch(1);
    CountDownLatch come = new CountDownLatch(1);
    first.before =
        step -> {
          if (step == inStep) {
            reached.countDown();
            await(come);
          }
        };
    Future<Outcome> ofFirst = first.start();
    reached.await();
    Future<Outcome> ofOther = startBeside(other, first);
    come.countDown();
    return List.of(ofFirst, ofOther);
  }

  /** Starts a rank, and returns when others, which train, know that they are to pause for it. */
  Future<Outcome> startBeside(Rank other, Rank... training) throws InterruptedException {
    List<Future<Outcome>> started = new ArrayList<>();
    pause(() -> started.add(other.start()), training);
    return started.get(0);
  }

  /**
   * Runs a cause for which ranks that train pause, and returns when they know. The coordinator's
   * own event may be seen before its messages have arrived, steps earlier.
   */
  static void pause(Runnable cause, Rank... training) throws InterruptedException {
    CountDownLatch watching = new CountDownLatch(training.length);
    CountDownLatch told = new CountDownLatch(training.length);
    for (Rank each : training) {
      requireNonNull(each.membership)
          .watch(
              event -> {
                if (event.kind() == CoordinatorEvent.Kind.FORMED) {
                  watching.countDown();
                } else if (event.kind() == CoordinatorEvent.Kind.PAUSED) {
                  told.countDown();
                }
              });
    }
    watching.await();
    cause.run();
    told.await();
  }

  /** A rank, and its actions in a step. */
  final class Rank {
    final String name;
    BiFunction<ElasticNet, ProcessGroup, ReplicatedModel> model = DistributedDataParallel::wrap;
    UnaryOperator<ElasticRanks> ranks = own -> own;
    BiFunction<ElasticNet, TrainingState.Builder, Runnable> optimizer =
        (net, state) -> {
          net.addTo(state);
          return net::update;
        };
    Consumer<TrainingLoopBuilder<ReplicatedModel>> options = builder -> {};

    BiFunction<TensorDataset, Part, DataLoader> loader = ElasticNet::loader;

    /** Before the forward pass of each batch. */
    Action before = step -> {};

    /** Between the backward pass and the optimizer. */
    Action between = step -> {};

    /** After the optimizer. */
    Action after = step -> {};

    volatile @Nullable Membership membership;
    String digest = "";

    Rank(String name) {
      this.name = name;
    }

    boolean isBroken() {
      Membership own = membership;
      return own != null && own.broken().isPresent();
    }

    void awaitBroken() {
      while (!isBroken()) {
        Thread.onSpinWait();
      }
    }

    Future<Outcome> start() {
      return threads.submit(
          () -> {
            try (PointerScope scope = new PointerScope();
                TensorDataset data = ElasticNet.data();
                Membership own =
                    Membership.join(
                        "127.0.0.1",
                        coordinator.port(),
                        MembershipOptions.defaults().withName(name))) {
              membership = own;
              ElasticNet net = new ElasticNet(name.charAt(0));
              Outcome outcome = run(net, own, data);
              digest = net.digest();
              return outcome;
            }
          });
    }

    private Outcome run(ElasticNet net, Membership own, TensorDataset data)
        throws InterruptedException {
      ElasticRanks job = ranks.apply(ElasticRanks.of(own));
      Runnable[] update = new Runnable[1];
      TrainingLoopBuilder<ReplicatedModel> builder =
          TrainingLoop.over(job, group -> model.apply(net, group))
              .state(state -> update[0] = optimizer.apply(net, state))
              .loader(part -> loader.apply(data, part))
              .whenChanged(step -> lines.add(ElasticLog.world(job, step, name, net.digest())));
      options.accept(builder);
      TrainingLoop<ReplicatedModel> loop = builder.build();
      return loop.run(
          (step, bound, batch) -> {
            lines.add(ElasticLog.batch(job.world().generation(), step.number(), batch));
            before.at(step.number());
            return net.loss(batch);
          },
          () -> {
            between.at(loop.step());
            update[0].run();
            after.at(loop.step());
          });
    }
  }

  /** Ends the ranks, and waits until they have freed their objects. */
  @Override
  public void close() {
    coordinator.close();
    threads.shutdownNow();
    try {
      while (!threads.awaitTermination(1, TimeUnit.MINUTES)) {}
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
