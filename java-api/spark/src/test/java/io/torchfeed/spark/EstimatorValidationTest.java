// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.pipeline.TorchfeedEstimator;
import io.torchfeed.spark.pipeline.TorchfeedNet;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.assertj.core.data.Percentage;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/** Tests the validation, the weights, the early stop and the progress of an estimator. */
class EstimatorValidationTest {
  private final List<Double> losses = Collections.synchronizedList(new ArrayList<>());

  /** {@link LineNet} for pipelines, with a loss for each row. */
  static final class Weighted implements TorchfeedNet.OfRows<LineNet> {
    private static final long serialVersionUID = 1L;

    @Override
    public LineNet create() {
      return new LineNet();
    }

    @Override
    public Tensor forward(LineNet net, Tensor[] inputs) {
      return net.forward(inputs[0]).squeeze(1);
    }

    @Override
    public Tensor loss(Tensor output, Tensor label) {
      return torch.mse_loss(output, label);
    }

    @Override
    public Tensor losses(Tensor output, Tensor label) {
      return output.sub(label).square();
    }
  }

  private TorchfeedEstimator estimator(TorchfeedNet<LineNet> net) {
    return TorchfeedEstimator.of(
            net,
            RowColumn.of("p", DType.FLOAT32),
            RowColumn.of("y", DType.FLOAT32),
            RowColumn.of("x", DType.FLOAT32, 3))
        .setRanks(2)
        .setEpochs(4)
        .setBatchSize(8)
        .setLearningRate(0.02)
        .onProgress(
            report -> {
              if (report.rank() == 1 && report.metrics().containsKey("validationLoss")) {
                losses.add(report.metrics().get("validationLoss"));
              }
            });
  }

  /** Returns points of which the second half of each ten validates, with a weight of 1 or 3. */
  private static Dataset<Row> points() {
    return TestSpark.points(TestSpark.local(), 301, 2)
        .withColumn("v", functions.expr("id % 10 >= 5"))
        .withColumn("w", functions.expr("cast(1 + 2 * (id % 2) as double)"));
  }

  /** Returns the mean loss over some rows, divided by their mean weight. */
  private static double error(Dataset<Row> predicted, String rows, String weight) {
    Row sums =
        predicted
            .filter(rows)
            .selectExpr("sum((p - y) * (p - y) * " + weight + ") s", "sum(" + weight + ") n")
            .first();
    return sums.getDouble(0) / ((Number) sums.get(1)).doubleValue();
  }

  @Test
  void itReturnsTheNetworkOfTheBestValidation() {
    Dataset<Row> points = points();
    TorchfeedEstimator estimator =
        estimator(new TorchfeedEstimatorTest.Line()).setValidationIndicatorCol("v");
    Dataset<Row> predicted = estimator.fit(points).transform(points);
    assertThat(losses).hasSize(4);
    assertThat(error(predicted, "v", "1")).isCloseTo(Collections.min(losses), within());
  }

  private static Percentage within() {
    return Percentage.withPercentage(1e-3);
  }

  /** The labels of the rows of the validation are others, so that training makes them worse. */
  @Test
  void itStopsEarlyAndNeverTrainsWithTheValidation() {
    Dataset<Row> points = points().withColumn("y", functions.expr("float(if(v, -9, y))"));
    TorchfeedEstimator estimator =
        estimator(new TorchfeedEstimatorTest.Line())
            .setEpochs(50)
            .setValidationIndicatorCol("v")
            .setPatience(2);
    Dataset<Row> predicted = estimator.fit(points, new ParamMap()).transform(points);
    assertThat(losses).hasSizeLessThan(50);
    double best = Collections.min(losses);
    assertThat(losses.subList(losses.size() - 3, losses.size()))
        .startsWith(best)
        .allMatch(loss -> loss >= best);
    assertThat(error(predicted, "v", "1")).isCloseTo(best, within());
  }

  /** Steps take all rows, whose order depends on their weights, too. */
  private List<Double> lossesOfWholeSteps(Dataset<Row> points, String weight) {
    losses.clear();
    estimator(new Weighted())
        .setBatchSize(512)
        .setValidationIndicatorCol("v")
        .setWeightCol(weight)
        .fit(points);
    return List.copyOf(losses);
  }

  private static void requireClose(List<Double> actual, List<Double> expected) {
    assertThat(actual).hasSameSizeAs(expected);
    for (int i = 0; i < actual.size(); i++) {
      assertThat(actual.get(i))
          .isCloseTo(expected.get(i), Percentage.withPercentage(1e-2)); // float32, many steps
    }
  }

  @Test
  void weightsCountInTrainingAndValidationByTheirRatio() {
    Dataset<Row> points = points();
    TorchfeedEstimator estimator =
        estimator(new Weighted()).setValidationIndicatorCol("v").setWeightCol("w");
    Dataset<Row> predicted = estimator.fit(points).transform(points);
    assertThat(error(predicted, "v", "w")).isCloseTo(Collections.min(losses), within());
    List<Double> weighted = lossesOfWholeSteps(points, "w");
    requireClose(
        lossesOfWholeSteps(points.withColumn("w", functions.expr("10 * w")), "w"), weighted);
    List<Double> equal = lossesOfWholeSteps(points, "");
    requireClose(lossesOfWholeSteps(points.withColumn("w", functions.lit(0.5)), "w"), equal);
    assertThat(weighted.get(3)).isNotCloseTo(equal.get(3), within());
  }

  /** If all rows are equal, each step has their gradient, whatever the weights of its rows. */
  @Test
  void aStepIsDividedByTheWeightOfItsOwnRows() {
    Dataset<Row> points =
        points()
            .withColumn("x", functions.expr("array(1f, 2f, 3f)"))
            .withColumn("y", functions.expr("5f"));
    TorchfeedEstimator estimator = estimator(new Weighted());
    double equal = error(estimator.fit(points).transform(points), "true", "1");
    estimator.setWeightCol("w");
    assertThat(error(estimator.fit(points).transform(points), "true", "1"))
        .isCloseTo(equal, Percentage.withPercentage(0.1));
  }

  /** Rows of weight 0 change nothing: their labels may be any. */
  @Test
  void rowsOfWeightZeroHaveNoEffect() {
    Dataset<Row> points = points().withColumn("w", functions.expr("double(id % 3 > 0)"));
    Dataset<Row> others = points.withColumn("y", functions.expr("float(if(w = 0, 9, y))"));
    TorchfeedEstimator estimator =
        estimator(new Weighted()).setValidationIndicatorCol("v").setWeightCol("w");
    Dataset<Row> predicted = estimator.fit(points).transform(points);
    assertThat(error(predicted, "v", "w")).isCloseTo(Collections.min(losses), within());
    assertThat(error(estimator.fit(others).transform(others), "v", "w")).isLessThan(1);
  }

  @Test
  void whatCannotBeIsRefused() {
    Dataset<Row> points = points();
    TorchfeedEstimator line = estimator(new TorchfeedEstimatorTest.Line());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> line.setPatience(1).fit(points))
        .withMessage("an early stop needs setValidationIndicatorCol");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> line.setPatience(0).setWeightCol("w").fit(points))
        .withMessageStartingWith(
            "weights need the loss of each row: implement TorchfeedNet.OfRows in ");
    assertThatThrownBy(
            () ->
                estimator(new Weighted())
                    .setWeightCol("w")
                    .fit(points.withColumn("w", functions.expr("double(-1)"))))
        .hasStackTraceContaining("weights must be at least 0 and finite, got -1.0 in column w");
    assertThatThrownBy(
            () ->
                estimator(new Weighted())
                    .setValidationIndicatorCol("v")
                    .fit(points.withColumn("v", functions.lit(false))))
        .hasStackTraceContaining("column v must be true for a row with a weight above 0");
  }

  @Test
  void itsParametersAreSavedAndLoaded() throws IOException {
    String path = TestSpark.folder("estimator").resolve("stage").toUri().toString();
    TorchfeedEstimator estimator =
        estimator(new Weighted())
            .setWeightCol("w")
            .setValidationIndicatorCol("v")
            .setPatience(3)
            .setSeed(1)
            .setCheckpoints("file:///none");
    estimator.write().save(path);
    TorchfeedEstimator loaded = TorchfeedEstimator.load(path);
    assertThat(loaded.explainParams())
        .isEqualTo(estimator.explainParams())
        .contains("patience", "validationIndicatorCol", "weightCol");
    assertThat(loaded.transformSchema(points().schema()).fieldNames()).hasSize(6);
    assertThat(loaded.uid()).isEqualTo(estimator.uid());
  }
}
