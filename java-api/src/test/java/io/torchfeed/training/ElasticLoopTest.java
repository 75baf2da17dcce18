// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.elastic.ElasticRanks;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.RankThreads;
import io.torchfeed.training.LoopEvent.Kind;
import io.torchfeed.training.TrainingLoop.Outcome;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ElasticLoopTest extends TrainingLoopContract {
  ElasticLoopTest(@TempDir Path temporary) {
    super(temporary);
  }

  @Override
  int ranks() {
    return 2;
  }

  @Override
  void onEachRank(Body body) throws Exception {
    CoordinatorOptions options =
        CoordinatorOptions.of(1, ranks())
            .withStart(Duration.ofSeconds(60))
            .withSilence(Duration.ofSeconds(60));
    try (Coordinator coordinator = Coordinator.listen("127.0.0.1", 0, options)) {
      RankThreads.run(
          ranks(),
          rank -> Membership.join("127.0.0.1", coordinator.port()),
          membership ->
              body.run(
                  net ->
                      TrainingLoop.over(
                          ElasticRanks.of(membership),
                          ranks -> DistributedDataParallel.wrap(net, ranks))));
    }
  }

  /** A rank that fails in a step; the other one has run its forward pass by then, in vain. */
  @Test
  void itEndsAsByHandAfterARankIsLost() throws Exception {
    long lostIn = 3;
    CountDownLatch other = new CountDownLatch(1);
    Queue<String> ends = new ConcurrentLinkedQueue<>();
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      onEachRank(
          source -> {
            try (PointerScope inside = new PointerScope();
                LoopNet net = new LoopNet(0)) {
              ends.add(run(source.loop(net), net, data, lostIn, other));
            }
          });
      assertThat(ends).containsExactlyInAnyOrder("lost", byHand(data, lostIn));
    }
  }

  @Test
  void aRankThatIsAskedToStopLeavesAndTheOtherCompletes() throws Exception {
    Queue<Outcome> ends = new ConcurrentLinkedQueue<>();
    Queue<LoopEvent> events = new ConcurrentLinkedQueue<>();
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      onEachRank(
          source -> {
            try (PointerScope inside = new PointerScope();
                LoopNet net = new LoopNet(0)) {
              ends.add(untilStopped(source.loop(net).events(events::add), net, data));
            }
          });
    }
    assertThat(ends).containsExactly(Outcome.LEFT, Outcome.COMPLETED);
    assertThat(events).hasSize(4).containsOnly(new LoopEvent(Kind.WAITING, "waits for ranks"));
  }

  /** The second one, of a step; it counts once. */
  @Test
  void anEvaluationInWhichARankIsLostRunsAgain() throws Exception {
    Queue<String> ends = new ConcurrentLinkedQueue<>();
    Queue<Step> evaluated = new ConcurrentLinkedQueue<>();
    CountDownLatch both = new CountDownLatch(2); // in the evaluation in which one is lost
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      onEachRank(
          source -> {
            try (PointerScope inside = new PointerScope();
                LoopNet net = new LoopNet(0)) {
              ends.add(lostInEvaluation(source.loop(net), net, data, evaluated, both));
            }
          });
    }
    assertThat(ends).containsExactlyInAnyOrder("lost", "STOPPED_EARLY 9");
    assertThat(evaluated)
        .extracting(step -> step.number() + " of " + step.worldSize())
        .containsExactlyInAnyOrder("3 of 2", "3 of 2", "6 of 2", "6 of 2", "6 of 1", "9 of 1");
  }

  private static <M extends ReplicatedModel> String lostInEvaluation(
      TrainingLoopBuilder<M> builder,
      LoopNet net,
      TensorDataset data,
      Queue<Step> evaluated,
      CountDownLatch both)
      throws InterruptedException {
    TrainingLoop<M> loop =
        builder
            .state(net::addTo)
            .loader(part -> LoopNet.loader(data, part))
            .epochs(9)
            .evaluation(
                (model, step) -> {
                  evaluated.add(step);
                  if (step.number() == 6 && step.worldSize() == 2) {
                    both.countDown();
                    failOnRankOne(step, both);
                  }
                  return 1;
                },
                EvaluationOptions.ofLoss().withEverySteps(3).withPatience(2))
            .build();
    try {
      Outcome end = loop.run((step, model, batch) -> net.loss(batch), net.optimizer::step);
      return end + " " + loop.step();
    } catch (IllegalArgumentException e) {
      return "lost";
    }
  }

  private static void failOnRankOne(Step step, CountDownLatch both) {
    if (step.rank() == 1) {
      await(both);
      throw new IllegalArgumentException("a fault of the program");
    }
  }

  private static <M extends ReplicatedModel> Outcome untilStopped(
      TrainingLoopBuilder<M> builder, LoopNet net, TensorDataset data) throws InterruptedException {
    TrainingLoop<M> loop =
        builder.state(net::addTo).loader(part -> LoopNet.loader(data, part)).epochs(200).build();
    return loop.run(
        (step, model, batch) -> {
          if (step.number() == 1 && step.rank() == 1) {
            loop.requestStop();
          }
          return net.loss(batch);
        },
        net.optimizer::step);
  }

  private static <M extends ReplicatedModel> String run(
      TrainingLoopBuilder<M> builder,
      LoopNet net,
      TensorDataset data,
      long lostIn,
      CountDownLatch other)
      throws InterruptedException {
    try {
      builder
          .state(net::addTo)
          .loader(part -> LoopNet.loader(data, part))
          .seed(SEED)
          .build()
          .run(
              (step, model, batch) -> {
                if (step.number() == lostIn && step.worldSize() == 2 && step.rank() == 1) {
                  await(other);
                  throw new IllegalArgumentException("a fault of the program");
                }
                Tensor loss = net.loss(batch);
                if (step.number() == lostIn) {
                  other.countDown();
                }
                return loss;
              },
              net.optimizer::step);
      return net.digest();
    } catch (IllegalArgumentException e) {
      return "lost";
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Trains with two ranks, and after some steps with the first one. */
  private static String byHand(TensorDataset data, long lostIn) throws Exception {
    Queue<String> ends = new ConcurrentLinkedQueue<>();
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              LoopNet net = new LoopNet(0);
              DistributedDataParallel model = DistributedDataParallel.wrap(net, group);
              DataLoader ofTwo = LoopNet.loader(data, group.part());
              DataLoader ofOne = LoopNet.loader(data, Part.whole());
              Batches first = ofTwo.epoch(0)) {
            for (long step = 0; step < lostIn; step++) {
              step(net, first.next(), model::backward);
            }
            group.barrier();
            model.close(); // gradients are no longer averaged
            if (group.rank() == 0) {
              try (Batches rest = ofOne.resume(first.state())) {
                while (rest.hasNext()) {
                  step(net, rest.next(), Tensor::backward);
                }
              }
              ends.add(net.digest());
            }
          }
        });
    return ends.remove();
  }

  private static void step(LoopNet net, Batch batch, Consumer<Tensor> backward) {
    try (PointerScope scope = new PointerScope()) {
      net.optimizer.zero_grad();
      backward.accept(net.loss(batch));
      net.optimizer.step();
    }
  }
}
