// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("cluster")
class LostShuffleFileTest {
  @Test
  void sparkComputesTheRowsAgainAndRepeatsTheStage() throws IOException {
    SparkSession spark = TestSpark.local();
    Dataset<Row> points = TestSpark.points(spark, 301, 4).repartition(2);
    List<byte[]> undisturbed = LineTask.ranks(points).train(LineTask.of(null, null));
    assertThat(deleteShuffleFiles(Path.of(spark.conf().get("spark.local.dir")))).isPositive();
    ConcurrentLinkedQueue<RankProgress> progress = new ConcurrentLinkedQueue<>();

    List<byte[]> models =
        LineTask.ranks(points).onProgress(progress::add).train(LineTask.of(null, null));

    assertThat(models).containsExactlyElementsOf(undisturbed);
    assertThat(progress).hasSize(4).allMatch(each -> each.attempt() > 0);
  }

  private static int deleteShuffleFiles(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      List<Path> found =
          files.filter(file -> file.getFileName().toString().startsWith("shuffle_")).toList();
      for (Path file : found) {
        Files.delete(file);
      }
      return found.size();
    }
  }
}
