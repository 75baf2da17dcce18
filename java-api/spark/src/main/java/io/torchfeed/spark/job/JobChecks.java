// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.job;

import io.torchfeed.internal.Failures;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.checkpoint.HadoopFolder;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.time.Duration;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;

/** Checks of a cluster before a job, which Spark makes late or not at all. */
final class JobChecks {
  private static final long PAUSE_MILLIS = 100;

  private JobChecks() {}

  /**
   * Requires a DataFrame whose plan is in this JVM. Names no class of Spark's, since the client of
   * Spark Connect lacks most of them.
   *
   * @throws IllegalArgumentException if it is one of Spark Connect
   */
  static void requireOwnSession(Object rows) {
    Class<?> type = rows.getClass();
    try {
      type.getMethod("queryExecution").invoke(rows);
    } catch (NoSuchMethodException e) { // of Spark 3.5
      throw ofConnect(type, e);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof UnsupportedOperationException) {
        throw ofConnect(type, e);
      }
      throw new IllegalStateException("the DataFrame has no plan", e);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("the DataFrame hides its plan", e);
    }
  }

  private static IllegalArgumentException ofConnect(Class<?> type, Exception cause) {
    return new IllegalArgumentException(
        ("the DataFrame must be of a session in the driver's JVM, got one of Spark Connect, %s;"
                + " start the program by spark-submit, without a remote")
            .formatted(type.getName()),
        cause);
  }

  static void requireFixedExecutors(SparkConf conf) {
    if (conf.getBoolean("spark.dynamicAllocation.enabled", false) && !isLocal(conf)) {
      throw new SparkRanksException(
          Problem.DYNAMIC_ALLOCATION,
          "all ranks must run at the same time, and Spark then needs a fixed number of executors;"
              + " set spark.dynamicAllocation.enabled to false and spark.executor.instances to the"
              + " number of ranks");
    }
  }

  /** Returns whether driver and executor are one JVM, so that no more executors can come. */
  private static boolean isLocal(SparkConf conf) {
    String master = conf.get("spark.master", "");
    return master.equals("local") || master.startsWith("local[");
  }

  /**
   * Creates the folder of the checkpoints, so that a wrong path is noticed before the training.
   *
   * @throws SparkRanksException if it cannot be created
   */
  static void requireFolder(String path, Configuration hadoop) {
    try {
      new HadoopFolder(path, hadoop).create();
    } catch (IOException | IllegalArgumentException e) {
      throw new SparkRanksException(
          Problem.CHECKPOINTS,
          "the folder of checkpoints %s cannot be created: %s".formatted(path, Failures.reason(e)),
          e);
    }
  }

  /**
   * Waits for executors.
   *
   * @throws SparkRanksException if there are too few slots after the limit
   */
  static void requireSlots(SparkContext spark, int ranks, Duration limit)
      throws InterruptedException {
    long deadline = System.nanoTime() + (isLocal(spark.conf()) ? 0 : limit.toNanos());
    while (true) {
      int slots =
          spark.maxNumConcurrentTasks(spark.resourceProfileManager().defaultResourceProfile());
      if (slots >= ranks) {
        return;
      }
      if (System.nanoTime() - deadline >= 0) {
        throw new SparkRanksException(
            Problem.SLOTS,
            ("%d ranks need as many slots for tasks at the same time, but the cluster has %d;"
                    + " start more executors, or lower spark.task.cpus (%s) or the number of ranks")
                .formatted(ranks, slots, spark.conf().get("spark.task.cpus", "1")));
      }
      Thread.sleep(PAUSE_MILLIS);
    }
  }
}
