// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.checkpoint.HadoopFolder;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checkpoints in HDFS, with a namenode and a datanode in this JVM and executors in others. */
@Tag("cluster")
@Timeout(300)
class HdfsCheckpointsTest {
  private static final int ROWS = 301;

  private MiniDFSCluster hdfs;
  private SparkSession spark;
  private String path;

  @BeforeEach
  void start() throws IOException {
    hdfs = HdfsCluster.start();
    path = hdfs.getURI() + "/models/line";
    spark = TestSpark.cluster(Map.of("spark.hadoop.dfs.replication", "1"));
  }

  @AfterEach
  void stop() {
    spark.stop();
    hdfs.shutdown();
  }

  @Test
  void aKilledExecutorCostsTheStepsSinceTheLastCheckpoint() throws IOException {
    ClusterRanksTest.requireALostExecutorCostsNoRow(spark, 2, path);
    assertThat(folder().complete()).hasSize(3);
  }

  @Test
  void anExecutorThatIsKilledWhileItSavesLeavesTheCheckpointBefore() {
    String notes = TestSpark.folder("notes").toString();

    List<Long> loaded =
        LineTask.ranks(TestSpark.points(spark, ROWS, 2))
            .checkpoints(path)
            .train(
                saving(
                    (context, step) -> {
                      if (context.attempt() == 0 && step == 2) {
                        note(notes, "saving-" + context.rank());
                        if (context.rank() == 1) {
                          await(notes, "saving-0"); // it has completed the checkpoint before
                          Runtime.getRuntime().halt(9);
                        }
                      }
                    }));

    assertThat(loaded).containsExactly(1L, 1L);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aNamenodeThatGoesAwayWhileARankSavesEndsTheJobAndKeepsTheCheckpointBefore(int rank)
      throws Exception {
    Dataset<Row> points = TestSpark.points(spark, ROWS, 2);
    String notes = TestSpark.folder("notes").toString();
    FutureTask<Boolean> outage =
        new FutureTask<>(
            () -> {
              await(notes, "saving-0"); // it has completed the checkpoint before
              await(notes, "saving-1");
              hdfs.shutdownNameNode(0);
              note(notes, "down");
              return true;
            });
    Thread thread = new Thread(outage, "outage");
    thread.setDaemon(true); // it waits on if a rank fails before
    thread.start();

    assertThatThrownBy(
            () ->
                LineTask.ranks(points)
                    .checkpoints(path)
                    .groupTimeout(Duration.ofMinutes(10))
                    .train(
                        saving(
                            (context, step) -> {
                              if (step == 2) {
                                note(notes, "saving-" + context.rank());
                                if (context.rank() == rank) {
                                  await(notes, "down");
                                }
                              }
                            })))
        .isInstanceOfSatisfying(
            SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.CHECKPOINTS))
        .hasMessageContaining("a checkpoint in %s cannot be saved", path);

    assertThat(outage.get()).isTrue();
    hdfs.restartNameNode(0, true);
    assertThat(LineTask.ranks(points).checkpoints(path).train(saving((context, step) -> {})))
        .containsExactly(1L, 1L);
  }

  private HadoopFolder folder() {
    return new HadoopFolder(path, spark.sparkContext().hadoopConfiguration());
  }

  /** An event while a rank saves a checkpoint. */
  private interface Event extends Serializable {
    void during(RankContext context, long step);
  }

  /** Returns a task of three steps, with a checkpoint after each, that returns the loaded step. */
  private static RankTask<Long> saving(Event event) {
    return (context, rows) -> {
      long[] step = {0};
      TrainingState shared =
          TrainingState.builder().number("step", () -> step[0], saved -> step[0] = saved).build();
      TrainingState own =
          TrainingState.builder()
              .number(
                  "rank",
                  () -> {
                    event.during(context, step[0]);
                    return context.rank();
                  },
                  saved -> assertThat(saved).isEqualTo(context.rank()))
              .build();
      long loaded = context.checkpoints().load(shared, own).orElse(0);
      while (step[0] < 3) {
        step[0]++;
        context.checkpoints().save(step[0], shared, own);
      }
      return loaded;
    };
  }

  private static void note(String folder, String name) {
    try {
      Files.createFile(Path.of(folder, name));
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void await(String folder, String name) {
    try {
      while (!Files.exists(Path.of(folder, name))) {
        Thread.sleep(10);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
