// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@Tag("cluster")
@EnabledOnOs(OS.LINUX)
class ManyJobsTest {
  private static final int JOBS = 30;
  private static final int WARM = 10;

  /** Spark and the JVM have some that begin and end meanwhile. */
  private static final int FEW = 4;

  /** Rank 0 has nine more than the others, and is on any executor; a leak would be one per job. */
  private static final int FILES = 12;

  /** Less than a job needs: the process of a rank grows by some 100 MB in its first job. */
  private static final long KILOBYTES = 48_000;

  @Test
  void threadsFilesAndMemoryStayFlatOverThirtyJobsInOneApplication(TestReporter reporter)
      throws IOException {
    SparkSession spark =
        TestSpark.cluster(
            Map.of(
                "spark.executor.memory",
                "512m",
                "spark.executor.extraJavaOptions", // all of the heap is resident from the start
                "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xms512m -XX:+AlwaysPreTouch"));
    try {
      Dataset<Row> points = TestSpark.points(spark, 100, 2);
      LineTask task = LineTask.of(null, null);
      Map<Long, List<ProcessUsage>> ofExecutors = new TreeMap<>();
      List<ProcessUsage> ofDriver = new ArrayList<>();
      for (int job = 0; job < JOBS; job++) {
        List<ProcessUsage> before =
            LineTask.ranks(points)
                .train(
                    (context, rows) -> {
                      ProcessUsage usage = ProcessUsage.now();
                      task.train(context, rows);
                      return usage;
                    });
        for (ProcessUsage usage : before) {
          ofExecutors.computeIfAbsent(usage.process(), none -> new ArrayList<>()).add(usage);
        }
        ofDriver.add(ProcessUsage.now());
      }

      assertThat(ofExecutors).hasSize(2);
      for (List<ProcessUsage> usages : ofExecutors.values()) {
        reporter.publishEntry("executor", usages.get(WARM) + " " + usages.get(JOBS - 1));
        requireFlat(usages);
        assertThat(usages.get(JOBS - 1).kilobytes() - usages.get(WARM).kilobytes())
            .as("growth of the resident memory, kB")
            .isLessThan(KILOBYTES);
      }
      reporter.publishEntry("driver", ofDriver.get(WARM) + " " + ofDriver.get(JOBS - 1));
      requireFlat(ofDriver); // its heap is not, since Spark remembers a thousand jobs
      assertThat(ofDriver.get(JOBS - 1).own().keySet())
          .noneMatch(name -> name.startsWith("torchfeed-spark"));
      try (Stream<Path> left = Files.walk(Path.of(spark.conf().get("spark.local.dir")))) {
        assertThat(left.filter(file -> file.toString().contains("torchfeed-rows"))).isEmpty();
      }
    } finally {
      spark.stop();
    }
  }

  private static void requireFlat(List<ProcessUsage> usages) {
    ProcessUsage warm = usages.get(WARM);
    ProcessUsage last = usages.get(JOBS - 1);
    assertThat(last.own()).isEqualTo(warm.own());
    assertThat(last.natives()).as("native threads").isLessThanOrEqualTo(warm.natives() + FEW);
    assertThat(last.threads().size() - warm.threads().size())
        .as("kinds of threads, from %s to %s", warm.threads(), last.threads())
        .isLessThanOrEqualTo(FEW);
    assertThat(last.files()).as("open files").isLessThanOrEqualTo(warm.files() + FILES);
  }
}
