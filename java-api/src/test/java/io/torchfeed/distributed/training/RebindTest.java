// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Tests that training continues in another group as if it were started there with the same values.
 * Threads are ranks that meet in one group after the other.
 */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RebindTest {
  private static final GroupOptions OPTIONS = GroupOptions.ofTimeout(Duration.ofSeconds(60));
  private static final int STEPS = 4;

  private final Map<String, Master> masters = new ConcurrentHashMap<>();

  private ProcessGroup join(String name, int ranks, int rank) {
    Master master = masters.computeIfAbsent(name, any -> Master.listen("127.0.0.1"));
    return ProcessGroup.join(
        rank == 0 ? master : Master.at("127.0.0.1", master.port()), new Part(ranks, rank), OPTIONS);
  }

  /** Objects that train a net. */
  private interface Trainer extends AutoCloseable {
    void step(int rank, int step);

    void rebind(ProcessGroup group);

    @Override
    void close();
  }

  @FunctionalInterface
  private interface TrainerFactory {
    Trainer of(ResumeNet net, ProcessGroup group);
  }

  private static void update(ResumeNet net) {
    try (PointerScope scope = new PointerScope()) {
      for (Tensor parameter : net.trained()) {
        parameter.detach().add_(parameter.grad(), new Scalar(-0.05f));
      }
    }
  }

  private static void clear(ResumeNet net) {
    net.trained().forEach(parameter -> parameter.mutable_grad().reset());
  }

  private static TrainerFactory averaging(GradientExchange exchange) {
    return (net, group) -> {
      DataParallelOptions options =
          DataParallelOptions.defaults().withBucketBytes(200).withExchange(exchange);
      var model = DistributedDataParallel.wrap(net, group, options);
      return new Trainer() {
        @Override
        public void step(int rank, int step) {
          clear(net);
          model.backward(net.loss(rank, step));
          update(net);
        }

        @Override
        public void rebind(ProcessGroup next) {
          model.rebind(next);
        }

        @Override
        public void close() {
          model.close();
        }
      };
    };
  }

  private static TrainerFactory averaging(AveragingAlgorithm algorithm) {
    return (net, group) -> {
      var model = ModelAveraging.wrap(net, group, algorithm);
      return new Trainer() {
        @Override
        public void step(int rank, int step) {
          model.step(
              () -> {
                clear(net);
                net.loss(rank, step).backward();
              },
              () -> update(net));
        }

        @Override
        public void rebind(ProcessGroup next) {
          model.rebind(next);
        }

        @Override
        public void close() {
          model.close();
        }
      };
    };
  }

  private static ResumeNet copyOf(ResumeNet net) {
    ResumeNet copy = net.copy();
    copy.all().get(5).copy_(net.all().get(5));
    return copy;
  }

  private static void train(Trainer trainer, int rank) {
    for (int step = 0; step < STEPS; step++) {
      trainer.step(rank, step);
    }
  }

  /** Trains, beside a net that is the same now and whose trainer is new. */
  private void assertTrainsLikeANewWrapper(
      String name, Trainer trainer, ResumeNet net, TrainerFactory factory, ProcessGroup group) {
    ResumeNet other = copyOf(net);
    try (ProcessGroup beside = join(name + " fresh", group.size(), group.rank());
        Trainer fresh = factory.of(other, beside)) {
      assertThat(other.bits()).as("%s: values when it starts", name).isEqualTo(net.bits());
      train(trainer, group.rank());
      train(fresh, group.rank());
      assertThat(other.bits().equals(net.bits()))
          .as("%s: equal weights on rank %d", name, group.rank())
          .isTrue();
    }
  }

  /** Trains on two ranks, then on more, then on the last two of these. */
  private void assertContinues(String name, int ranks, TrainerFactory factory) throws Exception {
    RankThreads.run(
        ranks,
        all -> {
          int thread = all.rank();
          try (PointerScope scope = new PointerScope()) {
            ResumeNet net = new ResumeNet(1 + thread);
            ProcessGroup two = thread < 2 ? join(name + " two", 2, thread) : all;
            Trainer trainer = thread < 2 ? factory.of(net, two) : null;
            if (trainer != null) {
              train(trainer, thread);
            }
            try (ProcessGroup more = join(name + " more", ranks, thread)) {
              if (trainer != null) {
                trainer.rebind(more);
                two.close();
              } else {
                trainer = factory.of(net, more);
              }
              assertTrainsLikeANewWrapper(name + " more", trainer, net, factory, more);
              if (thread >= ranks - 2) {
                try (ProcessGroup left = join(name + " left", 2, thread - ranks + 2)) {
                  trainer.rebind(left);
                  assertTrainsLikeANewWrapper(name + " left", trainer, net, factory, left);
                  trainer.close();
                }
              }
              trainer.close();
            }
          }
        });
  }

  @Test
  void gradientsAreAveragedAsByANewWrapper() throws Exception {
    for (GradientExchange exchange :
        List.of(
            GradientExchange.allReduce(),
            GradientExchange.float16(),
            GradientExchange.bfloat16(),
            GradientExchange.byteGrad())) {
      assertContinues(exchange.toString(), 3, averaging(exchange));
    }
    assertContinues("nodes", 4, averaging(GradientExchange.byteGrad().withRanksPerNode(2)));
  }

  @Test
  void weightsAreAveragedAsByANewObject() throws Exception {
    assertContinues("all", 3, averaging(AveragingAlgorithm.decentralized()));
    assertContinues("interval", 3, averaging(AveragingAlgorithm.decentralized().withInterval(2)));
    assertContinues("shift", 4, averaging(AveragingAlgorithm.shiftOne()));
    assertContinues("low", 3, averaging(AveragingAlgorithm.lowPrecision()));
    assertContinues("nodes", 4, averaging(AveragingAlgorithm.lowPrecision().withRanksPerNode(2)));
    assertContinues("local", 3, averaging(AveragingAlgorithm.postLocal(0, 2)));
    assertContinues(
        "warm-up", 3, averaging(AveragingAlgorithm.asynchronous(Duration.ZERO).withWarmup(99)));
  }

  @Test
  void aRankThatJoinsGetsTheMeanOfTheOthersAndTheirSteps() throws Exception {
    RankThreads.run(
        3,
        all -> {
          try (PointerScope scope = new PointerScope()) {
            int thread = all.rank();
            Weights net = Weights.frozen(new Weights(100));
            AveragingAlgorithm rarely = AveragingAlgorithm.postLocal(0, 5);
            ProcessGroup two = thread > 0 ? join("two", 2, thread - 1) : all;
            ModelAveraging model = thread > 0 ? ModelAveraging.wrap(net, two, rarely) : null;
            if (model != null) {
              for (int step = 0; step < 4; step++) {
                model.step(() -> {}, () -> {});
              }
              net.set(thread);
              model.rebind(all);
              two.close();
            } else {
              model = ModelAveraging.wrap(net, all, rarely);
            }
            try (ModelAveraging shared = model) {
              assertThat(net.get()).containsExactly(1.5f);
              assertThat(shared.exchanges()).isEqualTo(1);
              net.set(thread);
              shared.step(() -> {}, () -> {}); // the fifth, without an exchange
              assertThat(net.get()).containsExactly(thread);
              shared.step(() -> {}, () -> {});
              assertThat(net.get()).containsExactly(1);
            }
          }
        });
  }

  @Test
  void ranksThatAreLeftTrainOnAfterOneWasLost() throws Exception {
    for (TrainerFactory factory :
        List.of(
            averaging(GradientExchange.powerSgd().withStartIteration(1)),
            averaging(AveragingAlgorithm.decentralized()),
            averaging(AveragingAlgorithm.asynchronous(Duration.ofMillis(1))))) {
      masters.clear();
      RankThreads.run(
          3,
          all -> {
            int thread = all.rank();
            try (PointerScope scope = new PointerScope()) {
              ResumeNet net = new ResumeNet(1);
              ProcessGroup three = join("three", 3, thread);
              try (Trainer trainer = factory.of(net, three)) {
                train(trainer, thread);
                all.barrier(); // a rank that trains in the background ends it with its trainer
                if (thread == 1) {
                  three.abort();
                  return;
                }
                assertThatThrownBy(
                        () -> {
                          for (int step = 0; step < 10_000; step++) {
                            trainer.step(thread, step);
                          }
                        })
                    .isInstanceOf(PeerLostException.class);
                three.close();
                ProcessGroup two = join("two", 2, thread / 2);
                trainer.rebind(two);
                train(trainer, thread);
                two.barrier();
                trainer.close();
                two.close();
              } finally {
                three.close();
              }
            }
          });
    }
  }

  @Test
  void aGroupIsNotChangedInsideAStep() throws Exception {
    RankThreads.run(
        1,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            ResumeNet net = new ResumeNet(1);
            try (var model = DistributedDataParallel.wrap(net, group)) {
              try (var accumulating = model.noSync()) {
                assertThatIllegalStateException()
                    .isThrownBy(() -> model.rebind(group))
                    .withMessageContaining("outside of noSync");
                model.backward(net.loss(0, 0));
              }
              assertThatIllegalStateException()
                  .isThrownBy(() -> model.rebind(group))
                  .withMessageContaining("gradients have been accumulated");
              model.backward(net.loss(0, 0));
              model.rebind(group);
            }
            try (var model = ModelAveraging.wrap(net, group, AveragingAlgorithm.decentralized())) {
              model.step(
                  () ->
                      assertThatIllegalStateException()
                          .isThrownBy(() -> model.rebind(group))
                          .withMessage("a group is changed between steps, not in one"),
                  () -> {});
            }
          }
        });
  }

  @Test
  void aGroupThatDoesNotFitIsRefusedAndChangesNothing() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            ResumeNet net = new ResumeNet(1);
            ProcessGroup closed = join("closed", 2, group.rank());
            closed.close();
            DataParallelOptions nodes =
                DataParallelOptions.defaults()
                    .withExchange(GradientExchange.float16().withRanksPerNode(2));
            try (var model = DistributedDataParallel.wrap(net, group, nodes);
                var averaging =
                    ModelAveraging.wrap(net, group, AveragingAlgorithm.decentralized());
                ProcessGroup alone = join("alone " + group.rank(), 1, 0)) {
              assertThatIllegalStateException().isThrownBy(() -> model.rebind(closed));
              assertThatIllegalStateException().isThrownBy(() -> averaging.rebind(closed));
              assertThatIllegalArgumentException()
                  .isThrownBy(() -> model.rebind(alone))
                  .withMessageContaining("ranksPerNode");
              model.backward(net.loss(group.rank(), 0));
              model.verifyReplicas();
              averaging.step(() -> {}, () -> {});
              averaging.verifyReplicas();
            }
          }
        });
  }
}
