// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.pipeline.TorchfeedEstimator;
import io.torchfeed.spark.pipeline.TorchfeedNet;
import java.io.IOException;
import org.apache.spark.ml.Pipeline;
import org.apache.spark.ml.PipelineModel;
import org.apache.spark.ml.PipelineStage;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class TorchfeedEstimatorTest {
  private static SparkSession spark;

  @BeforeAll
  static void start() {
    spark = TestSpark.local();
  }

  /** {@link LineNet} for pipelines. */
  static final class Line implements TorchfeedNet<LineNet> {
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
  }

  private static TorchfeedEstimator estimator() {
    return TorchfeedEstimator.of(
            new Line(),
            RowColumn.of("p", DType.FLOAT32),
            RowColumn.of("y", DType.FLOAT32),
            RowColumn.of("x", DType.FLOAT32, 3))
        .setRanks(2)
        .setEpochs(10)
        .setBatchSize(8)
        .setLearningRate(0.02);
  }

  private static double error(Dataset<Row> predicted) {
    return predicted
        .agg(functions.avg(functions.pow(functions.col("p").minus(functions.col("y")), 2)))
        .first()
        .getDouble(0);
  }

  @Test
  void itFitsWithinAPipelineThatIsSavedAndLoaded() throws IOException {
    Dataset<Row> points = TestSpark.points(spark, 301, 2);
    double variance =
        points.agg(functions.var_pop("y")).first().getDouble(0); // the error of the best constant
    Pipeline pipeline = new Pipeline().setStages(new PipelineStage[] {estimator()});

    PipelineModel model = pipeline.fit(points);

    double error = error(model.transform(points));
    assertThat(error).isLessThan(variance / 10);
    String path = TestSpark.folder("pipeline").resolve("model").toUri().toString();
    model.write().save(path);
    assertThat(error(PipelineModel.load(path).transform(points))).isEqualTo(error);
    assertThat(model.transformSchema(points.schema())).isEqualTo(model.transform(points).schema());
  }

  @Test
  void itsParametersAreSavedAndLoaded() throws IOException {
    String path = TestSpark.folder("estimator").resolve("stage").toUri().toString();
    TorchfeedEstimator estimator = estimator().setSeed(5).setCheckpoints("file:///none");

    estimator.write().save(path);

    TorchfeedEstimator loaded = TorchfeedEstimator.load(path);
    assertThat(loaded.uid()).isEqualTo(estimator.uid());
    assertThat(loaded.explainParams()).isEqualTo(estimator.explainParams()).contains("current: 10");
    assertThatThrownBy(() -> estimator.setEpochs(0)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aMissingColumnIsRefusedBeforeTheTraining() {
    assertThatThrownBy(
            () -> estimator().transformSchema(TestSpark.points(spark, 5, 2).drop("y").schema()))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.SCHEMA));
  }
}
