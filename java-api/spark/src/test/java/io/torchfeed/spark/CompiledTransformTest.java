// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.job.SparkRanks;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of {@link RankModel#ofCompiled} against the outputs of Python. */
class CompiledTransformTest {
  private static final Path GOLDEN =
      Path.of("..", "..", "src", "test", "resources", "golden", "packages").toAbsolutePath();
  private static final int ROWS = 64;

  private static final RowColumn X = RowColumn.of("x", DType.FLOAT32, 3);
  private static final RowColumn KIND = RowColumn.of("kind", DType.INT64);
  private static final RowColumn SCORES = RowColumn.of("scores", DType.FLOAT32, 4);

  private static final StructType ITEMS =
      new StructType()
          .add("id", DataTypes.IntegerType)
          .add("x", DataTypes.createArrayType(DataTypes.FloatType))
          .add("kind", DataTypes.LongType);

  private static byte[] packaged(String version) throws IOException {
    return Files.readAllBytes(GOLDEN.resolve(version + ".pt2"));
  }

  /** Returns a tensor of Python's last run, which has 64 rows. */
  private static ByteBuffer last(String name) throws IOException {
    String line =
        Files.readAllLines(GOLDEN.resolve("2.13.txt")).stream()
            .filter(each -> each.startsWith(name + "\t"))
            .reduce((first, second) -> second)
            .orElseThrow();
    byte[] bytes = HexFormat.of().parseHex(line.substring(line.lastIndexOf('\t') + 1));
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static List<Float> floats(ByteBuffer from, int row, int count) {
    return IntStream.range(row * count, (row + 1) * count)
        .mapToObj(i -> from.getFloat(i * Float.BYTES))
        .toList();
  }

  private static Dataset<Row> items() throws IOException {
    ByteBuffer x = last("x");
    ByteBuffer kind = last("kind");
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < ROWS; i++) {
      rows.add(RowFactory.create(i, floats(x, i, 3).toArray(), kind.getLong(i * Long.BYTES)));
    }
    return TestSpark.local().createDataFrame(rows, ITEMS).repartition(2);
  }

  @ParameterizedTest
  @ValueSource(ints = {256, 3, 1}) // some of the last batches have one row
  void eachRowGetsPythonsOutput(int batchSize) throws IOException {
    ByteBuffer scores = last("scores");
    for (String version : List.of("2.10", "2.13")) {
      RankModel model =
          RankModel.ofCompiled(packaged(version), SCORES, X, KIND).withBatchSize(batchSize);

      List<Row> rows = SparkRanks.transform(items(), model).orderBy("id").collectAsList();

      assertThat(rows).hasSize(ROWS);
      for (int i = 0; i < ROWS; i++) {
        assertThat(rows.get(i).<Float>getList(3)).isEqualTo(floats(scores, i, 4));
      }
    }
  }

  @Test
  void aSingleRowOfAnotherShapeIsRefusedWithItsOwnReason() throws IOException {
    try (RankModel.Forward forward =
            RankModel.ofCompiled(packaged("2.10"), SCORES, X, KIND).open();
        PointerScope scope = new PointerScope()) {
      assertThatThrownBy(
              () ->
                  forward.of(
                      new Tensor[] {
                        torch.ones(1, 3), torch.ones(1) // floats in place of kinds
                      }))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("does not take (float[1, 3], float[1])");
    }
  }

  @Test
  void bytesThatAreNoPackageEndTheJobWithTheReason() throws IOException {
    RankModel model = RankModel.ofCompiled(new byte[] {1, 2, 3}, SCORES, X, KIND);
    Dataset<Row> items = SparkRanks.transform(items(), model);

    assertThatThrownBy(items::collectAsList)
        .hasStackTraceContaining("it is no whole package of torch._inductor");
  }
}
