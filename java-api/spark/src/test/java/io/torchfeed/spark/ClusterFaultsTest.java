// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.job.SparkRanks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

@Tag("cluster")
class ClusterFaultsTest {
  private static final long PATIENCE_MILLIS = 60_000;

  private @Nullable SparkSession spark;

  private SparkSession start(Map<String, String> conf) {
    spark = TestSpark.cluster(conf);
    return spark;
  }

  @AfterEach
  void stop() {
    if (spark != null) {
      spark.stop();
    }
  }

  @Test
  void kryoAndSpeculationChangeNothing() {
    SparkSession cluster =
        start(
            Map.of(
                "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                "spark.speculation", "true"));

    List<byte[]> models =
        LineTask.ranks(TestSpark.points(cluster, 100, 2)).train(LineTask.of(null, null));

    assertThat(models.get(0)).isEqualTo(models.get(1));
  }

  @Test
  void executorsWithoutTheClassesOfTheProgramAreNamedAsTheCause() {
    String ofSpark =
        Stream.of(System.getProperty("java.class.path").split(":", -1))
            .filter(entry -> !Files.isDirectory(Path.of(entry)))
            .collect(Collectors.joining(":"));
    SparkSession cluster =
        start(
            Map.of(
                "spark.executor.extraClassPath",
                ofSpark,
                "spark.stage.maxConsecutiveAttempts",
                "1"));

    assertThatThrownBy(
            () -> LineTask.ranks(TestSpark.points(cluster, 9, 2)).train(LineTask.of(null, null)))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.LOST))
        .hasMessageContaining("--jars");
  }

  @Test
  void dynamicAllocationIsRefused() {
    SparkSession cluster =
        start(
            Map.of(
                "spark.dynamicAllocation.enabled", "true",
                "spark.dynamicAllocation.shuffleTracking.enabled", "true"));

    assertThatThrownBy(
            () -> LineTask.ranks(TestSpark.points(cluster, 9, 2)).train(LineTask.of(null, null)))
        .isInstanceOfSatisfying(
            SparkRanksException.class,
            e -> assertThat(e.problem()).isEqualTo(Problem.DYNAMIC_ALLOCATION));
  }

  @Test
  void tooFewExecutorsAreRefusedAfterTheLimit() {
    SparkSession cluster = start(Map.of());

    assertThatThrownBy(
            () ->
                SparkRanks.on(TestSpark.points(cluster, 9, 3))
                    .columns(RowColumn.of("id", DType.INT64))
                    .executorLimit(Duration.ofSeconds(20))
                    .train((context, rows) -> ""))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.SLOTS))
        .hasMessageContaining("the cluster has 2");
  }

  @Test
  void aUsersExceptionEndsTheJobAndTheNextOneRunsOnTheSameExecutors() {
    SparkSession cluster = start(Map.of());

    assertThatThrownBy(
            () ->
                LineTask.ranks(TestSpark.points(cluster, 100, 2))
                    .train(
                        LineTask.of(
                            null,
                            (context, batch) -> {
                              if (context.rank() == 1 && batch.number() == 2) {
                                throw new ArithmeticException("attempt " + context.attempt());
                              }
                            })))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.FAILED))
        .hasRootCauseMessage("attempt 0");
    assertThat(LineTask.ranks(TestSpark.points(cluster, 100, 2)).train(LineTask.of(null, null)))
        .hasSize(2);
  }

  @Test
  void aCanceledJobEndsItsRanksOnBothExecutors(TestReporter reporter) throws Exception {
    SparkSession cluster = start(Map.of());
    Path folder = TestSpark.folder("cancel");
    String notes = folder.toString();
    Thread canceler =
        new Thread(
            () -> {
              await(folder.resolve("begun-0"), folder.resolve("begun-1"));
              cluster.sparkContext().cancelAllJobs();
            });
    canceler.start();

    assertThatThrownBy(
            () ->
                LineTask.ranks(TestSpark.points(cluster, 100, 2))
                    .train(
                        (context, rows) -> {
                          note(notes, "begun-" + context.rank());
                          try {
                            while (true) {
                              context.group().barrier();
                            }
                          } finally {
                            note(notes, "ended-" + context.rank());
                          }
                        }))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.CANCELED));
    long canceled = System.nanoTime();
    await(folder.resolve("ended-0"), folder.resolve("ended-1"));
    reporter.publishEntry(
        "ms from the end of the job to the end of its ranks",
        Long.toString((System.nanoTime() - canceled) / 1_000_000));
    canceler.join();
    assertThat(LineTask.ranks(TestSpark.points(cluster, 100, 2)).train(LineTask.of(null, null)))
        .hasSize(2);
  }

  private static void note(String folder, String name) {
    try {
      Files.createFile(Path.of(folder, name));
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void await(Path... files) {
    long end = System.currentTimeMillis() + PATIENCE_MILLIS;
    for (Path file : files) {
      while (!Files.exists(file)) {
        assertThat(System.currentTimeMillis()).as("time for %s", file).isLessThan(end);
        try {
          Thread.sleep(10);
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
    }
  }
}
