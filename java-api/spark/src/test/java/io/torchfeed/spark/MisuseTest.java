// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.job.SparkRanks;
import java.io.IOException;
import java.io.NotSerializableException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class MisuseTest {
  private static SparkSession spark;

  @BeforeAll
  static void start() {
    spark = TestSpark.local();
  }

  private static AbstractThrowableAssert<?, ? extends Throwable> refusal(
      Problem problem, ThrowingCallable call) {
    return assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(problem));
  }

  @Test
  void aTaskWithAVariableThatIsNotSerializableIsRefused() {
    Dataset<Row> points = TestSpark.points(spark, 9, 2);
    Object lock = new Object();

    assertThatIllegalArgumentException()
        .isThrownBy(() -> LineTask.ranks(points).train((context, rows) -> lock.toString()))
        .withMessageContaining("task must be serializable")
        .withMessageContaining("java.lang.Object")
        .withCauseInstanceOf(NotSerializableException.class);
    RowColumn x = RowColumn.of("x", DType.FLOAT32, 3);
    RankModel model =
        RankModel.of(
            new byte[0],
            bytes -> {
              throw new IllegalStateException(lock.toString());
            },
            RowColumn.of("p", DType.FLOAT32),
            x);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> SparkRanks.transform(points, model))
        .withMessageContaining("model must be serializable");
  }

  @Test
  void theRowsOfAUnionAndOfACoalesceAreDistributed() {
    Dataset<Row> union = TestSpark.points(spark, 40, 1).union(TestSpark.points(spark, 40, 1));
    Dataset<Row> coalesced = TestSpark.points(spark, 40, 4).coalesce(2);
    assertThat(union.rdd().getNumPartitions()).isEqualTo(2);

    assertThat(LineTask.ranks(union).train((context, rows) -> rows.size()))
        .containsExactly(40L, 40L);
    assertThat(LineTask.ranks(coalesced).train((context, rows) -> rows.size()))
        .containsExactly(20L, 20L);
  }

  @Test
  void rowsWithoutPartitionsOrBatchesAreRefused() {
    Dataset<Row> none = spark.emptyDataFrame();
    assertThat(none.rdd().getNumPartitions()).isZero();

    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> SparkRanks.on(none.selectExpr("1 as v")).train((context, rows) -> rows.size()))
        .withMessageContaining("without partitions");
    refusal(
            Problem.FAILED,
            () ->
                LineTask.ranks(TestSpark.points(spark, 9, 2).filter("id < 0"))
                    .train(LineTask.of(null, null)))
        .hasMessageContaining("no rank has a batch");
  }

  @Test
  void twoColumnsOfOneNameAreRefused() {
    Dataset<Row> points = TestSpark.points(spark, 9, 2);
    RowColumn x = RowColumn.of("x", DType.FLOAT32, 3);

    refusal(
            Problem.SCHEMA,
            () ->
                SparkRanks.on(points.join(points, points.col("id").equalTo(points.col("id"))))
                    .columns(x)
                    .train((context, rows) -> rows.size()))
        .hasMessageContaining("one column x");
    RankModel model =
        RankModel.of(
            new byte[0],
            bytes -> {
              throw new IllegalStateException("not to be called");
            },
            RowColumn.of("y", DType.FLOAT32),
            x);
    refusal(Problem.SCHEMA, () -> SparkRanks.transform(points, model))
        .hasMessageContaining("has a column y already");
  }

  @Test
  void aFolderOfCheckpointsThatCannotBeCreatedIsRefusedBeforeTheTraining() throws IOException {
    Path file = Files.createFile(TestSpark.folder("checkpoints").resolve("file"));

    refusal(
            Problem.CHECKPOINTS,
            () ->
                LineTask.ranks(TestSpark.points(spark, 9, 2))
                    .checkpoints(file.resolve("folder").toUri().toString())
                    .train(
                        (context, rows) -> {
                          throw new AssertionError("not to be called");
                        }))
        .hasMessageContaining("cannot be created");
    refusal(
            Problem.CHECKPOINTS,
            () ->
                LineTask.ranks(TestSpark.points(spark, 9, 2))
                    .checkpoints("nosuch:///folder")
                    .train((context, rows) -> ""))
        .hasMessageContaining("nosuch");
  }

  @Test
  void figuresThatCannotBeSentLeaveTheConnectionUsable() {
    ConcurrentLinkedQueue<RankProgress> progress = new ConcurrentLinkedQueue<>();

    LineTask.ranks(TestSpark.points(spark, 8, 2))
        .onProgress(progress::add)
        .train(
            (context, rows) -> {
              assertThatThrownBy(
                      () -> context.report(0, Collections.singletonMap("loss", (Double) null)))
                  .isInstanceOf(NullPointerException.class);
              assertThatIllegalArgumentException()
                  .isThrownBy(() -> context.report(0, Map.of("x".repeat(1 << 16), 1.0)));
              context.report(1, Map.of("loss", 0.5));
              return "";
            });

    assertThat(progress).hasSize(2).allMatch(each -> each.metrics().equals(Map.of("loss", 0.5)));
  }
}
