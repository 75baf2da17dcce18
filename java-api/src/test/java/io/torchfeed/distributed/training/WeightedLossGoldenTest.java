// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.amp.GradScaler;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.GoldenLine;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares ranks with different numbers of tokens with PyTorch over their joint batch; see
 * golden/python_weighted.py.
 */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WeightedLossGoldenTest {
  private static final int LINES = 42;
  private static final int STEPS = 6;
  private static final int CHANGE = 3;
  private static final double ROUNDING = 2e-5;
  private static final List<String> FILE = GoldenLine.read("python_weighted.txt");
  private static final GroupOptions OPTIONS = GroupOptions.ofTimeout(Duration.ofSeconds(60));

  private final Map<String, Master> masters = new ConcurrentHashMap<>();

  /** The ways in which the same numbers come about. */
  private enum Way {
    ALL_REDUCE(ROUNDING),
    VIEWS(ROUNDING),
    SCALED(ROUNDING),
    UNEVEN(ROUNDING),
    FLOAT16(5e-3),
    BFLOAT16(4e-2);

    private final double tolerance;

    Way(double tolerance) {
      this.tolerance = tolerance;
    }

    GradientExchange exchange() {
      return switch (this) {
        case FLOAT16 -> GradientExchange.float16();
        case BFLOAT16 -> GradientExchange.bfloat16();
        default -> GradientExchange.allReduce();
      };
    }
  }

  private static List<GoldenLine> lines() {
    return FILE.stream().skip(1).map(GoldenLine::parse).toList();
  }

  private static Stream<List<GoldenLine>> trainings() {
    List<GoldenLine> lines = lines();
    return Stream.iterate(0, i -> i < LINES, i -> i + STEPS).map(i -> lines.subList(i, i + STEPS));
  }

  private static double[] reals(GoldenLine line) {
    return Arrays.stream(line.text("values").split(",")).mapToDouble(Double::parseDouble).toArray();
  }

  @Test
  void theHeaderNamesProgramVersionAndNumberOfLines() {
    assertThat(FILE.get(0)).startsWith("# program ").contains("2.10.0").endsWith("lines " + LINES);
    assertThat(FILE).hasSize(1 + LINES);
  }

  /** Threads are ranks; the last one leaves before a step, and the others rebind the model. */
  @ParameterizedTest
  @EnumSource
  void stepsAreThoseOfTheJointBatch(Way way) throws Exception {
    for (List<GoldenLine> training : trainings().toList()) {
      int before = training.get(0).integer("ranks");
      int after = training.get(0).integer("then");
      masters.clear();
      RankThreads.run(
          before,
          rank -> join("first", before, rank),
          group -> {
            try (PointerScope scope = new PointerScope();
                Trainer trainer = new Trainer(way, group)) {
              trainer.train(training.subList(0, CHANGE));
              if (before == after) {
                trainer.train(training.subList(CHANGE, STEPS));
              } else if (group.rank() < after) {
                try (ProcessGroup left = join("second", after, group.rank())) {
                  trainer.model.rebind(left);
                  trainer.train(training.subList(CHANGE, STEPS));
                  trainer.model.verifyReplicas();
                }
              }
            }
          });
    }
  }

  @Test
  void oneProcessNeedsNoGroup() {
    List<GoldenLine> training = trainings().findFirst().orElseThrow();
    try (PointerScope scope = new PointerScope()) {
      TokenNet net = new TokenNet();
      SingleModel model = SingleModel.wrap(net);
      for (int step = 0; step < STEPS; step++) {
        int number = step;
        double[] norm = new double[1];
        net.optimizer.zero_grad();
        model.accumulate(() -> net.loss(0, number, 0), TokenNet.tokens(0, number, 0));
        model.step(
            () -> net.loss(0, number, 1),
            TokenNet.tokens(0, number, 1),
            () -> {
              norm[0] = model.clipGradNorm(TokenNet.MAX_NORM);
              net.optimizer.step();
            });
        compare(training.get(step), norm[0], net, ROUNDING);
      }
    }
  }

  private static void compare(GoldenLine line, double norm, TokenNet net, double tolerance) {
    String where = line.line().substring(0, line.line().indexOf(" tokens"));
    assertThat(norm)
        .as(where)
        .isCloseTo(Double.parseDouble(line.text("norm")), within(10 * tolerance));
    double[] expected = reals(line);
    float[] values = net.values();
    for (int i = 0; i < expected.length; i++) {
      assertThat((double) values[i])
          .as("%s, %d", where, i)
          .isCloseTo(expected[i], within(tolerance));
    }
  }

  private ProcessGroup join(String name, int ranks, int rank) {
    Master master = masters.computeIfAbsent(name, any -> Master.listen("127.0.0.1"));
    return ProcessGroup.join(
        rank == 0 ? master : Master.at("127.0.0.1", master.port()), new Part(ranks, rank), OPTIONS);
  }

  /** The training of one rank. */
  private static final class Trainer implements AutoCloseable {
    private final Way way;
    private final int rank;
    private final TokenNet net = new TokenNet();
    private final DistributedDataParallel model;
    private final GradScaler scaler;
    private double norm;

    Trainer(Way way, ProcessGroup group) {
      this.way = way;
      rank = group.rank();
      model =
          DistributedDataParallel.wrap(
              net,
              group,
              DataParallelOptions.defaults()
                  .withBucketBytes(32)
                  .withGradientAsBucketView(way == Way.VIEWS)
                  .withExchange(way.exchange())
                  .withWeightedLosses(true));
      scaler = GradScaler.create(GradScaler.Options.defaults().withInitialScale(1024));
    }

    void train(List<GoldenLine> steps) {
      for (GoldenLine line : steps) {
        try (PointerScope scope = new PointerScope()) {
          net.zero_grad(true); // the optimizer refuses views
          step(line.integer("step"));
          compare(line, norm, net, way.tolerance);
        }
      }
    }

    private void step(int step) {
      Runnable update = this::update;
      if (way != Way.UNEVEN) {
        model.accumulate(loss(step, 0), weight(step, 0));
        model.step(loss(step, 1), weight(step, 1), update);
        return;
      }
      // A rank without tokens shadows the others.
      List<Integer> own =
          IntStream.range(0, TokenNet.BATCHES)
              .boxed()
              .filter(each -> weight(step, each) > 0)
              .toList();
      try (UnevenInputs inputs = model.unevenInputs(Uneven.passes(own.isEmpty() ? 0 : 1))) {
        if (own.size() > 1) {
          model.accumulate(loss(step, own.get(0)), weight(step, own.get(0)));
        }
        if (!own.isEmpty()) {
          int last = own.get(own.size() - 1);
          model.step(loss(step, last), weight(step, last), update);
        }
        inputs.shadow(update);
      }
    }

    private Supplier<Tensor> loss(int step, int batch) {
      return () -> {
        Tensor loss = net.loss(rank, step, batch);
        return way == Way.SCALED ? scaler.scale(loss) : loss;
      };
    }

    private double weight(int step, int batch) {
      return TokenNet.tokens(rank, step, batch);
    }

    private void update() {
      if (way == Way.SCALED) {
        scaler.unscale(net.optimizer);
      }
      norm = model.clipGradNorm(TokenNet.MAX_NORM);
      if (way == Way.SCALED) {
        assertThat(scaler.step(net.optimizer)).isTrue();
        scaler.update();
      } else {
        net.optimizer.step();
      }
    }

    @Override
    public void close() {
      scaler.close();
      model.close();
    }
  }
}
