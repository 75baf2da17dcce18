// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("cluster")
class ManyJobsTest {
  private static final int JOBS = 30;
  private static final int FIRST = 5;
  private static final int FEW = 10;

  @Test
  void thirtyJobsInOneApplicationLeaveNoThreadsAndFiles() throws IOException {
    SparkSession spark = TestSpark.local(2, Map.of());
    try {
      Dataset<Row> points = TestSpark.points(spark, 100, 2);
      long files = 0;
      for (int job = 0; job < JOBS; job++) {
        LineTask.ranks(points).train(LineTask.of(null, null));
        if (job == FIRST) {
          files = openFiles();
        }
      }

      assertThat(Thread.getAllStackTraces().keySet())
          .extracting(Thread::getName)
          .noneMatch(name -> name.startsWith("torchfeed"));
      assertThat(openFiles()).isLessThanOrEqualTo(files + FEW);
      try (Stream<Path> left = Files.walk(Path.of(spark.conf().get("spark.local.dir")))) {
        assertThat(left.filter(file -> file.toString().contains("torchfeed-rows"))).isEmpty();
      }
    } finally {
      spark.stop();
    }
  }

  private static long openFiles() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return files.count();
    }
  }
}
