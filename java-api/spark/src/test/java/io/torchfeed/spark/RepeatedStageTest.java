// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class RepeatedStageTest {
  private static final int ROWS = 301;

  private static SparkSession spark;
  private static @Nullable List<byte[]> undisturbed;

  @BeforeAll
  static void start() {
    spark = TestSpark.local();
  }

  /** Loses a rank in the middle of the second epoch of the first attempt. */
  private static LineTask losing(String log) {
    return LineTask.of(
        log,
        (context, batch) -> {
          if (context.attempt() == 0
              && context.rank() == 1
              && batch.epoch() == 1
              && batch.number() == 5) {
            throw lost();
          }
        });
  }

  /** Trains once for all tests. */
  private static synchronized List<byte[]> undisturbed() {
    if (undisturbed == null) {
      undisturbed = LineTask.ranks(TestSpark.points(spark, ROWS, 2)).train(LineTask.of(null, null));
    }
    return undisturbed;
  }

  private static PeerLostException lost() {
    return new PeerLostException("test", Duration.ZERO, OptionalInt.of(0), "the test", null);
  }

  @Test
  void itContinuesFromTheLastCheckpointWithEachRowOnceAndEqualsAnUndisturbedRun()
      throws IOException {
    Dataset<Row> points = TestSpark.points(spark, ROWS, 2);
    Path log = TestSpark.folder("log");
    ConcurrentLinkedQueue<RankProgress> progress = new ConcurrentLinkedQueue<>();

    List<byte[]> models =
        LineTask.ranks(points)
            .checkpoints(TestSpark.folder("checkpoints").toUri().toString())
            .onProgress(progress::add)
            .train(losing(log.toString()));

    StepLog.requireEachRowOnce(log, 2, 2, 2, ROWS);
    assertThat(progress).extracting(RankProgress::attempt).containsExactlyInAnyOrder(0, 0, 1, 1);
    assertThat(progress.stream().mapToDouble(each -> each.metrics().get("rows")).sum())
        .isEqualTo(2.0 * ROWS);
    assertThat(models).containsExactlyElementsOf(undisturbed());
  }

  @Test
  void aJobContinuesFromTheCheckpointsOfAnotherOneWithTheSameRows() throws IOException {
    Dataset<Row> points = TestSpark.points(spark, ROWS, 2);
    String path = TestSpark.folder("checkpoints").toUri().toString();
    Path log = TestSpark.folder("log");
    List<byte[]> first =
        LineTask.ranks(points).checkpoints(path).train(LineTask.of(log.toString(), null));

    List<byte[]> again =
        LineTask.ranks(points)
            .checkpoints(path)
            .train(
                LineTask.of(
                    log.toString(),
                    (context, batch) -> {
                      throw new IllegalStateException("all epochs are complete");
                    }));

    assertThat(again).containsExactlyElementsOf(first);
    StepLog.requireEachRowOnce(log, 2, 1, 2, ROWS);
    assertThatThrownBy(
            () ->
                LineTask.ranks(TestSpark.points(spark, ROWS + 1, 2))
                    .checkpoints(path)
                    .train(LineTask.of(null, null)))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.ROWS_DIFFER));
  }

  @Test
  void itIsRefusedIfTheRowsDiffer() {
    UserDefinedFunction next =
        functions
            .udf((UDF1<Long, Long>) id -> Counter.VALUE.incrementAndGet(), DataTypes.LongType)
            .asNondeterministic();
    Dataset<Row> points =
        TestSpark.points(spark, ROWS, 2).withColumn("id", next.apply(functions.col("id")));

    assertThatThrownBy(
            () -> LineTask.ranks(points).train(losing(TestSpark.folder("log").toString())))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.ROWS_DIFFER))
        .hasMessageContaining("digest");
  }

  /** A source of values, another one for each row. */
  private static final class Counter {
    static final AtomicLong VALUE = new AtomicLong();

    private Counter() {}
  }

  @Test
  void itDoesNotDependOnTheOrderInWhichRowsArrive() {
    Dataset<Row> points = TestSpark.points(spark, ROWS, 2);
    Dataset<Row> reversed = points.sortWithinPartitions(functions.col("id").desc());

    List<byte[]> models = undisturbed();

    assertThat(LineTask.ranks(reversed).train(LineTask.of(null, null)))
        .containsExactlyElementsOf(models);
    assertThat(
            LineTask.ranks(reversed).rowOrder(RowOrder.AS_DELIVERED).train(LineTask.of(null, null)))
        .doesNotContainSequence(models);
  }
}
