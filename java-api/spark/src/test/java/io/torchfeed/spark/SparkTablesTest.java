// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.CsvFile;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.job.SparkRanks;
import io.torchfeed.spark.job.SparkTables;
import io.torchfeed.spark.pipeline.TorchfeedEstimator;
import io.torchfeed.spark.pipeline.TorchfeedModel;
import io.torchfeed.spark.pipeline.TorchfeedNet;
import io.torchfeed.table.CategoryColumn;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.NumberColumn;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableRows;
import io.torchfeed.table.TableTensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares tables of DataFrames with tables of {@link CsvFile}, which {@code TableGoldenTest}
 * compares with pandas and scikit-learn on the same file.
 */
class SparkTablesTest {
  private static final Path PEOPLE =
      Path.of("../../src/test/resources/golden/tables/people.csv").toAbsolutePath().normalize();
  private static final int TRAINING = 60;

  private static final NumberColumn GAPS = NumberColumn.of("age", "income");
  private static final TableColumns COLUMNS =
      TableColumns.of(
          TableTensor.features(
              "x",
              GAPS.withMissingMean().withMissingMask().withStandardization(),
              NumberColumn.of("clock", "constant", "tiny").withStandardization(),
              NumberColumn.ofDates("joined", "seen"),
              CategoryColumn.of("colour").withMissingCategory().withUnknownAllowed()),
          TableTensor.features("zeros", GAPS.withMissingValue(0).withStandardization()),
          TableTensor.number("age", NumberColumn.of("age").withMissingValue(-1)),
          TableTensor.categories("shop", CategoryColumn.ofNumbers("shop").withUnknownAllowed()),
          TableTensor.categories("label", CategoryColumn.of("class")),
          TableTensor.categories(
              "both",
              CategoryColumn.ofNumbers("shop").withUnknownAllowed(),
              CategoryColumn.of("class")));

  private static SparkSession spark;

  @BeforeAll
  static void start() {
    spark = TestSpark.local();
  }

  /** Returns the table in one partition, with the number of each row. */
  private static Dataset<Row> people() {
    return spark
        .read()
        .option("header", true)
        .option("timeZone", "UTC")
        .option("escape", "\"")
        .schema(
            "age DOUBLE, income DOUBLE, clock DOUBLE, constant FLOAT, tiny DOUBLE, colour STRING,"
                + " shop SMALLINT, joined DATE, seen TIMESTAMP, class STRING")
        .csv(PEOPLE.toUri().toString())
        .withColumn("constant", functions.expr("CAST(0.1 AS DECIMAL(3, 1))"))
        .withColumn("row", functions.monotonically_increasing_id());
  }

  private static Dataset<Row> training() {
    return people().filter("row < " + TRAINING).repartition(3);
  }

  /** A model whose output is its only input. */
  private static final class Same implements RankModel.Forward {
    @Override
    public Tensor of(Tensor[] columns) {
      return columns[0].clone();
    }

    @Override
    public void close() {}
  }

  private static RankModel same(FittedColumns fitted, String tensor) {
    RowSpec row = fitted.only(tensor).rows().get(0);
    long[] shape = row.shape().stream().mapToLong(Long::longValue).toArray();
    return RankModel.of(
            new byte[0],
            none -> new Same(),
            RowColumn.of("out", row.dtype(), shape),
            RowColumn.ofTable(fitted, tensor))
        .withBatchSize(7);
  }

  private static List<Number> elements(Dataset<Row> rows) {
    List<Number> all = new ArrayList<>();
    for (Row row : rows.orderBy("row").collectAsList()) {
      Object value = row.get(row.fieldIndex("out"));
      if (value instanceof Number number) {
        all.add(number);
      } else {
        all.addAll(row.getList(row.fieldIndex("out")));
      }
    }
    return all;
  }

  private static List<Number> elementsOfFile(TensorDataset data, String tensor) {
    try (DataLoader loader = DataLoader.over(data).batchSize((int) data.size()).build();
        Batches batches = loader.epoch(0)) {
      Tensor all = batches.next().tensor(tensor);
      List<Number> elements = new ArrayList<>();
      if (DType.of(all.scalar_type()) == DType.INT64) {
        long[] longs = new long[(int) all.numel()];
        all.data_ptr_long().get(longs);
        LongStream.of(longs).forEach(elements::add);
      } else {
        float[] floats = new float[(int) all.numel()];
        all.data_ptr_float().get(floats);
        for (float each : floats) {
          elements.add(each);
        }
      }
      return elements;
    }
  }

  @Test
  void theTensorsOfADataFrameAreThoseOfTheFile() {
    TableRows file = CsvFile.of(PEOPLE).read(COLUMNS);
    FittedColumns expected = file.fit(LongStream.range(0, TRAINING).toArray());

    FittedColumns fitted = SparkTables.fit(training(), COLUMNS);

    assertThat(fitted).isEqualTo(expected);
    assertThat(fitted.categories("label")).containsExactly("no", "perhaps", "yes");
    FittedColumns read = FittedColumns.fromJson(fitted.toJson());
    try (TensorDataset data = file.dataset(expected)) {
      for (TableTensor tensor : COLUMNS.tensors()) {
        Dataset<Row> encoded = SparkRanks.transform(people(), same(read, tensor.name()));
        assertThat(elements(encoded))
            .as(tensor.name())
            .containsExactlyElementsOf(elementsOfFile(data, tensor.name()));
      }
    }
  }

  /** Returns rows 0 to 9; the class of row 3 is missing, and row 5 has an unknown one. */
  private static Dataset<Row> withHoles() {
    return people()
        .filter("row < 10")
        .withColumn(
            "class",
            functions.expr("CASE row WHEN 3 THEN NULL WHEN 5 THEN 'other' ELSE class END"));
  }

  @ParameterizedTest
  @EnumSource(InvalidRows.class)
  void aRowThatDoesNotFitIsRefusedLeftOutOrKept(InvalidRows way) {
    FittedColumns fitted = SparkTables.fit(training(), COLUMNS);
    RankModel model = same(fitted, "label").withInvalidRows(way).withBatchSize(2);
    Dataset<Row> labels = SparkRanks.transform(withHoles(), model);
    assertThat(labels.schema().apply("out").nullable()).isEqualTo(way == InvalidRows.KEEP);
    SparkRanks ranks =
        SparkRanks.on(withHoles())
            .ranks(1)
            .columns(RowColumn.ofTable(fitted, "x"), RowColumn.ofTable(fitted, "label"))
            .invalidRows(way);
    if (way == InvalidRows.ERROR) {
      assertThatThrownBy(labels::collectAsList)
          .rootCause()
          .isInstanceOf(SparkRanksException.class)
          .hasMessageContaining("row 3 of the partition, column label int64 []: column class:")
          .hasMessageContaining("got nothing");
      assertThatThrownBy(() -> ranks.train((context, rows) -> rows.size()))
          .hasStackTraceContaining("row 3 of the partition, column label int64 []: column class:");
      return;
    }
    List<Row> rows = labels.orderBy("row").collectAsList();
    List<Long> kept = rows.stream().map(row -> row.<Long>getAs("row")).toList();
    if (way == InvalidRows.SKIP) {
      assertThat(kept).containsExactly(0L, 1L, 2L, 4L, 6L, 7L, 8L, 9L);
      assertThat(rows).noneMatch(row -> row.isNullAt(row.fieldIndex("out")));
    } else {
      assertThat(kept).hasSize(10);
      assertThat(rows)
          .filteredOn(row -> row.isNullAt(row.fieldIndex("out")))
          .extracting(row -> row.<Long>getAs("row"))
          .containsExactly(3L, 5L);
    }
    assertThat(rows.get(4 - (way == InvalidRows.SKIP ? 1 : 0)).<Long>getAs("out"))
        .isEqualTo(elements(SparkRanks.transform(people(), same(fitted, "label"))).get(4));
    assertThat(ranks.train((context, mine) -> mine.size())).containsExactly(8L);
  }

  @Test
  void aTrainingRowThatDoesNotFitIsNamedOrDoesNotCount() {
    Dataset<Row> holes = withHoles();
    assertThatThrownBy(() -> SparkTables.fit(holes, COLUMNS))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.ROW))
        .hasMessageStartingWith("row 3 of partition 0, column class: ")
        .hasMessageEndingWith(", got nothing");
    assertThat(SparkTables.fit(holes, COLUMNS, InvalidRows.SKIP))
        .isEqualTo(SparkTables.fit(holes.filter("row <> 3"), COLUMNS));
  }

  @Test
  void columnsThatCannotBeOfATableAreNamed() {
    assertThatThrownBy(() -> SparkTables.fit(training().drop("seen"), COLUMNS))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.SCHEMA))
        .hasMessageContaining("the DataFrame must have a column seen");
    assertThatThrownBy(
            () ->
                SparkTables.fit(
                    people().selectExpr("array(row) AS age"),
                    TableColumns.of(TableTensor.features("x", NumberColumn.of("age")))))
        .isInstanceOf(SparkRanksException.class)
        .hasMessage(
            "the column age of a table must have a number, boolean, text, date or time,"
                + " but is array<bigint>");
  }

  /** A linear layer over the features of a table. */
  static final class Classifier implements TorchfeedNet<Classifier.Layer> {
    private static final long serialVersionUID = 1L;

    /** The columns, which know how wide the layer is. */
    private final FittedColumns fitted;

    Classifier(FittedColumns fitted) {
      this.fitted = fitted;
    }

    /** The module. */
    static final class Layer extends Module {
      private final LinearImpl linear;

      Layer(long in, long out) {
        linear = register_module("linear", new LinearImpl(in, out));
      }
    }

    @Override
    public Layer create() {
      return new Layer(fitted.width("x"), fitted.indexCount("label"));
    }

    @Override
    public Tensor forward(Layer module, Tensor[] inputs) {
      return module.linear.forward(inputs[0]);
    }

    @Override
    public Tensor loss(Tensor output, Tensor label) {
      return torch.cross_entropy_loss(output, label);
    }
  }

  @Test
  void anEstimatorTakesATableAndItsModelIsSavedWithIt() throws Exception {
    TableColumns columns =
        TableColumns.of(
            TableTensor.features(
                "x",
                GAPS.withMissingMean().withStandardization(),
                CategoryColumn.of("class")), // which the layer can learn
            TableTensor.categories("label", CategoryColumn.of("class")));
    FittedColumns fitted = SparkTables.fit(training(), columns);
    TorchfeedEstimator estimator =
        TorchfeedEstimator.of(
                new Classifier(fitted),
                RowColumn.of("scores", DType.FLOAT32, 3),
                RowColumn.ofTable(fitted, "label"),
                RowColumn.ofTable(fitted, "x"))
            .setRanks(2)
            .setEpochs(20)
            .setBatchSize(8)
            .setLearningRate(0.05)
            .setHandleInvalid("skip");
    String path = TestSpark.folder("table").resolve("estimator").toUri().toString();
    estimator.write().save(path);
    TorchfeedEstimator loaded = TorchfeedEstimator.load(path);
    assertThat(loaded.getOrDefault(loaded.handleInvalid())).isEqualTo("skip");

    TorchfeedModel model = estimator.fit(withHoles().union(training()));

    path = TestSpark.folder("table").resolve("model").toUri().toString();
    model.write().save(path);
    Dataset<Row> scored = TorchfeedModel.load(path).transform(withHoles());
    List<Row> rows = scored.orderBy("row").collectAsList();
    assertThat(rows).hasSize(8);
    List<String> classes = fitted.categories("label");
    for (Row row : rows) {
      List<Float> scores = row.getList(row.fieldIndex("scores"));
      int best = scores.indexOf(scores.stream().max(Float::compare).orElseThrow());
      assertThat(classes.get(best)).isEqualTo(row.getAs("class"));
    }
    assertThat(scored.schema()).isEqualTo(model.transformSchema(withHoles().schema()));
    assertThat(model.setHandleInvalid("keep").transform(withHoles()).count()).isEqualTo(10);
    assertThatThrownBy(() -> estimator.setHandleInvalid("drop"))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
