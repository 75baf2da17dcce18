// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.sampler.Part;
import io.torchfeed.testing.GoldenLine;
import io.torchfeed.testing.RankThreads;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares with scikit-learn and torchmetrics; see golden/python_metrics.py. */
class MetricsGoldenTest {
  private static final int LINES = 138;
  private static final double ROUNDING = 1e-12;

  /** Of torchmetrics, which has float32 here. */
  private static final double FLOAT_ROUNDING = 1e-6;

  private static final List<String> FILE = GoldenLine.read("python_metrics.txt");

  @Test
  void theHeaderNamesProgramVersionsAndNumberOfLines() {
    assertThat(FILE.get(0))
        .startsWith("# program ")
        .contains("scikit-learn 1.9.1", "torchmetrics 1.9.0")
        .endsWith("lines " + LINES);
    assertThat(FILE).hasSize(1 + LINES);
  }

  static Stream<GoldenLine> lines() {
    return FILE.stream().skip(1).map(GoldenLine::parse);
  }

  @ParameterizedTest
  @MethodSource("lines")
  void theResultIsThatOfPython(GoldenLine line) {
    Metric metric = metric(line);
    update(metric, line, IntStream.range(0, rows(line)).toArray());
    if (metric instanceof ConfusionMatrix confusion) {
      assertThat(Arrays.stream(confusion.counts()).flatMapToLong(Arrays::stream).toArray())
          .isEqualTo(line.list("result"));
      return;
    }
    double expected = line.decimals("result")[0];
    double rounding = line.name().equals("recall_at") ? FLOAT_ROUNDING : ROUNDING;
    if (Double.isNaN(expected)) {
      assertThat(metric.compute()).isNaN();
    } else {
      assertThat(metric.compute()).isCloseTo(expected, within(rounding));
    }
  }

  /** All metrics of the file, in another order of the samples for each number of ranks. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void ranksAndOrderLeaveNoTraceInTheBits(int ranks) throws Exception {
    List<GoldenLine> lines = lines().toList();
    List<Metric> alone = metrics(lines);
    for (int i = 0; i < lines.size(); i++) {
      update(alone.get(i), lines.get(i), IntStream.range(0, rows(lines.get(i))).toArray());
    }
    Queue<Map<String, Double>> results = new ConcurrentLinkedQueue<>();
    RankThreads.run(
        ranks,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            List<Metric> own = metrics(lines);
            for (int i = 0; i < lines.size(); i++) {
              updateInBatches(own.get(i), lines.get(i), group.part());
            }
            MetricCollection collection = collection(own);
            collection.merge(group);
            results.add(collection.compute());
          }
        });
    assertThat(results).hasSize(ranks).containsOnly(collection(alone).compute());
  }

  private static List<Metric> metrics(List<GoldenLine> lines) {
    return lines.stream().map(MetricsGoldenTest::metric).toList();
  }

  private static MetricCollection collection(List<Metric> metrics) {
    Map<String, Metric> named = new HashMap<>();
    metrics.forEach(metric -> named.put("line" + named.size(), metric));
    return MetricCollection.of(named);
  }

  private static void updateInBatches(Metric metric, GoldenLine line, Part part) {
    List<Integer> order = new ArrayList<>(IntStream.range(0, rows(line)).boxed().toList());
    Collections.shuffle(order, new Random(part.worldSize()));
    int batch = 7;
    int[] own =
        IntStream.range(0, order.size())
            .filter(place -> place % part.worldSize() == part.rank())
            .map(order::get)
            .toArray();
    for (int from = 0; from < own.length; from += batch) {
      update(metric, line, Arrays.copyOfRange(own, from, Math.min(own.length, from + batch)));
    }
  }

  private static int rows(GoldenLine line) {
    int columns = line.integer("columns");
    return line.decimals("output").length / Math.max(1, columns);
  }

  /** Returns some rows; the open scope owns them. */
  private static Tensor tensor(double[] values, int columns, int[] rows) {
    long[] wanted = Arrays.stream(rows).asLongStream().toArray();
    Tensor all = Tensor.create(values);
    Tensor shaped = columns == 0 ? all : all.view(-1, columns);
    return shaped.index_select(0, Tensor.create(wanted));
  }

  private static void update(Metric metric, GoldenLine line, int[] rows) {
    try (PointerScope scope = new PointerScope()) {
      int columns = line.integer("columns");
      Tensor output = tensor(line.decimals("output"), columns, rows);
      boolean isListOfCandidates = metric instanceof RetrievalScore;
      Tensor target = tensor(line.decimals("target"), isListOfCandidates ? columns : 0, rows);
      Tensor classes = target.to(torch.ScalarType.Long);
      if (metric instanceof Mean mean) {
        mean.update(output, target);
      } else if (metric instanceof Accuracy accuracy) {
        accuracy.update(output, classes);
      } else if (metric instanceof ConfusionMatrix confusion) {
        confusion.update(output.to(torch.ScalarType.Long), classes);
      } else if (metric instanceof ClassScore score) {
        score.update(output.to(torch.ScalarType.Long), classes);
      } else if (metric instanceof LogLoss loss) {
        loss.update(output, classes);
      } else if (metric instanceof RegressionScore regression) {
        regression.update(output, target);
      } else if (metric instanceof RankingScore ranking) {
        ranking.update(output, classes);
      } else if (metric instanceof RetrievalScore retrieval) {
        retrieval.update(output, target);
      }
    }
  }

  private static Metric metric(GoldenLine line) {
    int classes = line.integer("classes");
    int k = line.integer("k");
    return switch (line.name()) {
      case "mean" -> Mean.create();
      case "accuracy" -> k == 1 ? Accuracy.create() : Accuracy.top(k);
      case "confusion" -> ConfusionMatrix.of(classes);
      case "precision" -> ClassScore.precision(classes, average(line));
      case "recall" -> ClassScore.recall(classes, average(line));
      case "f1" -> ClassScore.f1(classes, average(line));
      case "logLoss" -> LogLoss.create();
      case "perplexity" -> LogLoss.perplexity();
      case "rmse" -> RegressionScore.rmse();
      case "r2" -> RegressionScore.r2();
      case "auc" -> RankingScore.auc();
      case "averagePrecision" -> RankingScore.averagePrecision();
      case "ndcg" -> RetrievalScore.ndcg(k);
      case "recall_at" -> RetrievalScore.recall(k);
      default -> throw new IllegalArgumentException(line.line());
    };
  }

  private static ClassScore.Average average(GoldenLine line) {
    return ClassScore.Average.valueOf(line.text("average").toUpperCase(Locale.ROOT));
  }
}
