// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.DataParallelOptions.BufferMode;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Tests that a training in which every object is replaced by a new one several times, with the
 * state of the one before, has the weights of a training without stops, bit for bit.
 */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ResumeTest {
  private static final List<Integer> STOPS = List.of(0, 1, 2, 4);
  private static final int STEPS = 7;
  private static final int WARMUP = 2;

  /** The part of a checkpoint that belongs to one rank. */
  private record Saved(ResumeNet net, Map<String, StateDict> states) implements AutoCloseable {
    @Override
    public void close() {
      states.values().forEach(StateDict::close);
    }
  }

  /** Objects that train, made again after each stop. */
  private interface Trainer extends AutoCloseable {
    void step(int step);

    Map<String, StateDict> save();

    void restore(Map<String, StateDict> states);

    @Override
    void close();
  }

  private static StateDict part(Map<String, StateDict> states, String name) {
    return requireNonNull(states.get(name));
  }

  @FunctionalInterface
  private interface TrainerFactory {
    Trainer of(ResumeNet net, ProcessGroup group);
  }

  /** A training of some ranks. */
  private record Case(String name, int ranks, TrainerFactory factory) {}

  /** Runs all cases with as many ranks in one group. */
  private static void assertStopsChangeNothing(List<Case> cases) throws Exception {
    Map<Integer, List<Case>> byRanks =
        cases.stream()
            .collect(Collectors.groupingBy(Case::ranks, TreeMap::new, Collectors.toList()));
    for (Map.Entry<Integer, List<Case>> some : byRanks.entrySet()) {
      RankThreads.run(
          some.getKey(),
          group -> {
            for (Case each : some.getValue()) {
              assertStopsChangeNothing(group, each);
            }
          });
    }
  }

  private static void assertStopsChangeNothing(ProcessGroup group, Case each) {
    try (PointerScope scope = new PointerScope()) {
      List<String> expected = new ArrayList<>();
      ResumeNet straight = new ResumeNet(1);
      try (Trainer trainer = each.factory().of(straight, group)) {
        for (int step = 0; step < STEPS; step++) {
          trainer.step(step);
          expected.add(straight.bits());
        }
      }
      List<String> stopped = stopped(group, each.factory());
      for (int step = 0; step < STEPS; step++) {
        assertThat(stopped.get(step).equals(expected.get(step)))
            .as("%s: equal weights after step %d on rank %d", each.name(), step + 1, group.rank())
            .isTrue();
      }
    }
  }

  /** Returns the weights after each step. */
  private static List<String> stopped(ProcessGroup group, TrainerFactory factory) {
    List<String> weights = new ArrayList<>();
    Saved saved = new Saved(new ResumeNet(1), Map.of());
    for (int segment = 0; segment <= STOPS.size(); segment++) {
      try (Saved before = saved) {
        ResumeNet net = segment == 0 ? before.net() : before.net().copy();
        int first = segment == 0 ? 0 : STOPS.get(segment - 1);
        int end = segment == STOPS.size() ? STEPS : STOPS.get(segment);
        try (Trainer trainer = factory.of(net, group)) {
          if (segment > 0) {
            trainer.restore(before.states());
          }
          for (int step = first; step < end; step++) {
            trainer.step(step);
            weights.add(net.bits());
          }
          saved = new Saved(net, trainer.save());
        }
      }
    }
    saved.close();
    return weights;
  }

  /** Gradients that are exchanged, with SGD or QAdam. */
  private static final class Reduced implements Trainer {
    private final ResumeNet net;
    private final ProcessGroup group;
    private final DistributedDataParallel model;
    private final Momentum sgd;

    Reduced(ResumeNet net, ProcessGroup group, DataParallelOptions options) {
      this.net = net;
      this.group = group;
      model = DistributedDataParallel.wrap(net, group, options);
      sgd = new Momentum(net);
    }

    @Override
    public void step(int step) {
      sgd.zeroGrad();
      model.backward(net.loss(group.rank(), step));
      sgd.step();
    }

    @Override
    public Map<String, StateDict> save() {
      return new TreeMap<>(Map.of("model", model.stateDict(), "sgd", sgd.stateDict()));
    }

    @Override
    public void restore(Map<String, StateDict> states) {
      model.loadStateDict(part(states, "model"));
      sgd.loadStateDict(part(states, "sgd"));
    }

    @Override
    public void close() {
      model.close();
    }
  }

  @Test
  void anExchangeOfGradientsContinues() throws Exception {
    var powerSgd =
        GradientExchange.powerSgd().withStartIteration(WARMUP).withMinCompressionRate(0.5);
    Map<String, GradientExchange> exchanges = new TreeMap<>();
    exchanges.put("allReduce", GradientExchange.allReduce());
    exchanges.put("float16", GradientExchange.float16());
    exchanges.put("bfloat16", GradientExchange.bfloat16());
    exchanges.put("byteGrad", GradientExchange.byteGrad());
    exchanges.put("powerSgd", powerSgd);
    exchanges.put(
        "powerSgd of rank 3, batch",
        powerSgd.withMatrixApproximationRank(3).withBatchTensorsWithSameShape(true));
    exchanges.put("powerSgd, cold", powerSgd.withWarmStart(false).withStartIteration(0));
    exchanges.put("powerSgd, no feedback", powerSgd.withErrorFeedback(false));
    List<Case> cases = new ArrayList<>();
    exchanges.forEach(
        (name, exchange) -> {
          cases.add(reduced(name, 2, exchange));
          cases.add(reduced(name, 3, exchange));
        });
    for (var exchange :
        List.of(
            GradientExchange.allReduce(),
            GradientExchange.float16(),
            GradientExchange.byteGrad())) {
      cases.add(reduced(exchange + ", nodes", 4, exchange.withRanksPerNode(2)));
    }
    assertStopsChangeNothing(cases);
  }

  private static Case reduced(String name, int ranks, GradientExchange exchange) {
    DataParallelOptions options =
        DataParallelOptions.defaults().withBucketBytes(150).withExchange(exchange);
    return new Case(name, ranks, (net, group) -> new Reduced(net, group, options));
  }

  /** Three ranks; those from a number on do not use a parameter. */
  private static Case reduced(String name, DataParallelOptions options, int idleFrom) {
    return new Case(
        name,
        3,
        (net, group) -> {
          net.idleFrom(idleFrom);
          return new Reduced(net, group, options);
        });
  }

  @Test
  void aReducerWithOptionsContinues() throws Exception {
    DataParallelOptions small = DataParallelOptions.defaults().withBucketBytes(150);
    DataParallelOptions unused = small.withFindUnusedParameters(true);
    DataParallelOptions isStatic = small.withStaticGraph(true);
    assertStopsChangeNothing(
        List.of(
            reduced("defaults", DataParallelOptions.defaults(), 3),
            reduced("unused on some ranks", unused, 1),
            reduced("unused on all ranks", unused, 0),
            reduced("static", isStatic, 3),
            reduced("static, unused on some ranks", isStatic, 1),
            reduced("static, unused on all ranks", isStatic, 0),
            reduced("views", small.withGradientAsBucketView(true), 3),
            reduced("buffers", small.withBufferMode(BufferMode.OFF), 3),
            new Case(
                "static, alone",
                1,
                (net, group) ->
                    new Reduced(
                        net, group, DataParallelOptions.defaults().withStaticGraph(true)))));
  }

  /** Moments that are exchanged. */
  private static final class Adam implements Trainer {
    private final ResumeNet net;
    private final ProcessGroup group;
    private final DistributedDataParallel model;
    private final QAdam adam;

    Adam(ResumeNet net, ProcessGroup group, int ranksPerNode) {
      this.net = net;
      this.group = group;
      QAdam.Options options =
          QAdam.Options.defaults().withLearningRate(0.01).withWarmupSteps(WARMUP);
      model =
          DistributedDataParallel.wrap(
              net,
              group,
              DataParallelOptions.defaults()
                  .withBucketBytes(150)
                  .withExchange(options.exchange().withRanksPerNode(ranksPerNode)));
      adam = QAdam.of(model, options);
    }

    @Override
    public void step(int step) {
      adam.zeroGrad();
      model.backward(net.loss(group.rank(), step));
      adam.step();
    }

    @Override
    public Map<String, StateDict> save() {
      return Map.of("model", model.stateDict(), "adam", adam.stateDict());
    }

    @Override
    public void restore(Map<String, StateDict> states) {
      model.loadStateDict(part(states, "model"));
      adam.loadStateDict(part(states, "adam"));
    }

    @Override
    public void close() {
      adam.close();
      model.close();
    }
  }

  @Test
  void theMomentsOfQAdamContinue() throws Exception {
    List<Case> cases = new ArrayList<>();
    for (int ranks = 1; ranks <= 4; ranks++) {
      int perNode = ranks == 4 ? 2 : 1;
      cases.add(new Case("QAdam", ranks, (net, group) -> new Adam(net, group, perNode)));
    }
    assertStopsChangeNothing(cases);
  }

  /** Weights that are exchanged. */
  private static final class Averaged implements Trainer {
    private final ResumeNet net;
    private final ProcessGroup group;
    private final ModelAveraging model;
    private final Momentum sgd;

    Averaged(ResumeNet net, ProcessGroup group, AveragingAlgorithm algorithm) {
      this.net = net;
      this.group = group;
      model = ModelAveraging.wrap(net, group, algorithm);
      sgd = new Momentum(net);
    }

    @Override
    public void step(int step) {
      model.step(
          () -> {
            sgd.zeroGrad();
            net.loss(group.rank(), step).backward();
          },
          sgd::step);
    }

    @Override
    public Map<String, StateDict> save() {
      return Map.of("model", model.stateDict(), "sgd", sgd.stateDict());
    }

    @Override
    public void restore(Map<String, StateDict> states) {
      model.loadStateDict(part(states, "model"));
      sgd.loadStateDict(part(states, "sgd"));
    }

    @Override
    public void close() {
      model.close();
    }
  }

  private static Case averaged(int ranks, AveragingAlgorithm algorithm) {
    return new Case(
        algorithm.toString(), ranks, (net, group) -> new Averaged(net, group, algorithm));
  }

  @Test
  void anExchangeOfWeightsContinues() throws Exception {
    AveragingAlgorithm all = AveragingAlgorithm.decentralized();
    AveragingAlgorithm low = AveragingAlgorithm.lowPrecision();
    AveragingAlgorithm shift = AveragingAlgorithm.shiftOne();
    assertStopsChangeNothing(
        List.of(
            averaged(2, all),
            averaged(3, all.withInterval(3)),
            averaged(4, all.withRanksPerNode(2)),
            averaged(2, shift),
            averaged(4, shift.withInterval(2)),
            averaged(4, shift.withRanksPerNode(2)),
            averaged(2, low),
            averaged(3, low.withInterval(2)),
            averaged(4, low.withRanksPerNode(2)),
            averaged(2, AveragingAlgorithm.postLocal(WARMUP, 3)),
            averaged(3, AveragingAlgorithm.postLocal(0, 2)),
            averaged(2, AveragingAlgorithm.asynchronous(Duration.ZERO).withWarmup(STEPS))));
  }

  @Test
  void asynchronousAveragingContinuesFromTheWeightsOfEachRank() throws Exception {
    AveragingAlgorithm algorithm = AveragingAlgorithm.asynchronous(Duration.ofDays(1));
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            ResumeNet net = new ResumeNet(1);
            StateDict state;
            try (Averaged trainer = new Averaged(net, group, algorithm)) {
              trainer.step(0);
              trainer.step(1);
              state = trainer.model.stateDict();
            }
            ResumeNet other = new ResumeNet(2);
            try (state;
                Averaged trainer = new Averaged(other, group, algorithm)) {
              trainer.model.loadStateDict(state);
              assertThat(other.bits()).isEqualTo(net.bits());
              trainer.step(2);
              trainer.model.average();
            }
          }
        });
  }
}
