// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.offset;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.job.SparkRanks;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class TransformTest {
  private static final RowColumn X = RowColumn.of("x", DType.FLOAT32, 3);

  private static SparkSession spark;

  @BeforeAll
  static void start() {
    spark = TestSpark.local();
  }

  private static byte[] untrained() {
    try (LineNet net = new LineNet()) {
      return ModelBytes.of(net);
    }
  }

  private static RankModel.Forward open(byte[] model) {
    LineNet net = new LineNet();
    ModelBytes.load(model, net);
    return new RankModel.Forward() {
      @Override
      public Tensor of(Tensor[] columns) {
        return net.forward(columns[0]).squeeze(1);
      }

      @Override
      public void close() {
        net.close();
      }
    };
  }

  @Test
  void eachRowGetsItsOutput() {
    Dataset<Row> points = TestSpark.points(spark, 101, 3);
    RankModel model =
        RankModel.of(untrained(), TransformTest::open, RowColumn.of("p", DType.FLOAT32), X)
            .withBatchSize(16);

    Dataset<Row> predicted = SparkRanks.transform(points, model);

    assertThat(predicted.columns()).containsExactly("id", "x", "y", "p");
    List<Row> rows = predicted.orderBy("id").collectAsList();
    assertThat(rows).hasSize(101);
    try (RankModel.Forward forward = open(untrained())) {
      for (int i = 0; i < rows.size(); i++) {
        List<Float> x = rows.get(i).getList(1);
        assertThat(rows.get(i).getLong(0)).isEqualTo(i);
        try (Tensor one = torch.tensor(new float[] {x.get(0), x.get(1), x.get(2)}).view(1, 3);
            Tensor output = forward.of(new Tensor[] {one})) {
          assertThat(rows.get(i).getFloat(3)).isCloseTo(output.item_float(), offset(1e-6f));
        }
      }
    }
  }

  @Test
  void anOutputOfSeveralElementsIsAnArray() {
    RankModel model =
        RankModel.of(
            new byte[0], none -> new Doubling(), RowColumn.of("twice", DType.FLOAT32, 3), X);

    Dataset<Row> twice = SparkRanks.transform(TestSpark.points(spark, 5, 2), model);

    assertThat(twice.schema().apply("twice").dataType())
        .isEqualTo(DataTypes.createArrayType(DataTypes.FloatType, false));
    for (Row row : twice.collectAsList()) {
      List<Float> x = row.getList(1);
      List<Float> doubled = row.getList(3);
      assertThat(doubled).containsExactly(2 * x.get(0), 2 * x.get(1), 2 * x.get(2));
    }
  }

  /** A model without parameters. */
  private static final class Doubling implements RankModel.Forward {
    @Override
    public Tensor of(Tensor[] columns) {
      return columns[0].add(columns[0]);
    }

    @Override
    public void close() {}
  }

  @Test
  void aMissingInputIsRefusedByTheDriver() {
    RankModel model =
        RankModel.of(
            new byte[0],
            none -> new Doubling(),
            RowColumn.of("p", DType.FLOAT32),
            RowColumn.of("pixels", DType.FLOAT32));

    assertThatThrownBy(() -> SparkRanks.transform(TestSpark.points(spark, 5, 2), model))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.SCHEMA));
  }
}
