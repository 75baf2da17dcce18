// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.job.SparkRanks;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class LocalRanksTest {
  private static SparkSession spark;

  @BeforeAll
  static void start() {
    spark = TestSpark.local();
  }

  @Test
  void partitionsOfDifferentSizesTrainOneModel() {
    ConcurrentLinkedQueue<RankProgress> progress = new ConcurrentLinkedQueue<>();

    List<byte[]> models =
        LineTask.ranks(TestSpark.points(spark, 301, 2))
            .onProgress(progress::add)
            .train(LineTask.of(null, null));

    assertThat(models).hasSize(2);
    assertThat(models.get(0)).isEqualTo(models.get(1));
    try (LineNet net = new LineNet()) {
      byte[] untrained = ModelBytes.of(net);
      ModelBytes.load(models.get(0), net);
      assertThat(ModelBytes.of(net)).isEqualTo(models.get(0)).isNotEqualTo(untrained);
    }
    assertThat(progress).extracting(RankProgress::epoch).containsExactlyInAnyOrder(0L, 0L, 1L, 1L);
    assertThat(progress.stream().filter(each -> each.epoch() == 1))
        .extracting(each -> each.metrics().get("rows"))
        .containsExactlyInAnyOrder(150.0, 151.0);
  }

  @Test
  void aRankWithoutRowsTakesPartInTheStepsOfTheOthers() {
    Dataset<Row> points = TestSpark.points(spark, 40, 2).filter("id < 20"); // the first partition

    List<byte[]> models = LineTask.ranks(points).train(LineTask.of(null, null));

    assertThat(LineTask.ranks(points).train((context, rows) -> rows.size()))
        .containsExactly(20L, 0L);
    assertThat(models.get(0)).isEqualTo(models.get(1));
  }

  @Test
  void anExceptionOfTheUserEndsTheJobAtOnce() {
    AtomicInteger calls = Calls.reset();

    assertThatThrownBy(
            () ->
                LineTask.ranks(TestSpark.points(spark, 100, 2))
                    .train(
                        (context, rows) -> {
                          Calls.count.incrementAndGet();
                          if (context.rank() == 1) {
                            throw new IOException("no such file");
                          }
                          context.group().barrier();
                          return "";
                        }))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.FAILED))
        .hasMessageContaining("rank 1")
        .hasRootCauseInstanceOf(IOException.class)
        .hasRootCauseMessage("no such file");
    assertThat(calls).hasValue(2);
  }

  @Test
  void moreRanksThanSlotsAreRefused() {
    assertThatThrownBy(
            () -> SparkRanks.on(TestSpark.points(spark, 9, 3)).train((context, rows) -> ""))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.SCHEMA));
    assertThatThrownBy(
            () ->
                SparkRanks.on(TestSpark.points(spark, 9, 3))
                    .columns(RowColumn.of("id", DType.INT64))
                    .train((context, rows) -> ""))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.SLOTS))
        .hasMessageContaining("3 ranks");
  }

  @Test
  void aCanceledJobEndsItsRanksInACollectiveAndTheNextJobRuns() throws Exception {
    CountDownLatch waiting = Calls.latch(1);
    Thread canceler =
        new Thread(
            () -> {
              try {
                waiting.await();
                spark.sparkContext().cancelAllJobs();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    canceler.start();

    assertThatThrownBy(
            () ->
                LineTask.ranks(TestSpark.points(spark, 100, 2))
                    .train(
                        (context, rows) -> {
                          Calls.running.incrementAndGet();
                          try {
                            if (context.rank() == 0) {
                              Calls.latch.countDown();
                              context.group().barrier(); // rank 1 does not come
                            } else {
                              Thread.sleep(Long.MAX_VALUE);
                            }
                            return "";
                          } finally {
                            Calls.running.decrementAndGet();
                          }
                        }))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.CANCELED));
    canceler.join();
    assertThat(
            LineTask.ranks(TestSpark.points(spark, 100, 2)).train((context, rows) -> rows.size()))
        .containsExactly(50L, 50L);
    assertThat(Calls.running).hasValue(0);
  }

  /** The memory that ranks in this JVM share with the test. */
  static final class Calls {
    static final AtomicInteger count = new AtomicInteger();
    static final AtomicInteger running = new AtomicInteger();
    static CountDownLatch latch = new CountDownLatch(0);

    private Calls() {}

    static AtomicInteger reset() {
      count.set(0);
      return count;
    }

    static CountDownLatch latch(int waiting) {
      latch = new CountDownLatch(waiting);
      return latch;
    }
  }
}
