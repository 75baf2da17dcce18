// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;

/** The default run starts executors of their own here and in {@link RankTracesTest} only. */
class ClusterRanksTest {
  private static final int ROWS = 301;

  @Test
  void aKilledExecutorCostsTheStepsSinceTheLastCheckpoint() throws IOException {
    SparkSession spark = TestSpark.cluster(Map.of());
    try {
      requireALostExecutorCostsNoRow(spark, 4, TestSpark.folder("checkpoints").toUri().toString());
    } finally {
      spark.stop();
    }
  }

  /**
   * Trains with an executor that is halted in the second epoch: each row is used once per epoch,
   * and the models equal an undisturbed training's.
   */
  static void requireALostExecutorCostsNoRow(SparkSession spark, int partitions, String checkpoints)
      throws IOException {
    Dataset<Row> points = TestSpark.points(spark, ROWS, partitions);
    Path log = TestSpark.folder("log");
    ConcurrentLinkedQueue<RankProgress> progress = new ConcurrentLinkedQueue<>();

    List<byte[]> models =
        LineTask.ranks(points)
            .checkpoints(checkpoints)
            .onProgress(progress::add)
            .train(
                LineTask.of(
                    log.toString(),
                    (context, batch) -> {
                      if (context.attempt() == 0
                          && context.rank() == 1
                          && batch.epoch() == 1
                          && batch.number() == 5) {
                        Runtime.getRuntime().halt(9);
                      }
                    }));

    assertThat(progress).extracting(RankProgress::attempt).containsExactlyInAnyOrder(0, 0, 1, 1);
    StepLog.requireEachRowOnce(log, 2, 2, 2, ROWS);
    assertThat(LineTask.ranks(points).train(LineTask.of(null, null)))
        .containsExactlyElementsOf(models);
  }
}
