// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.job;

import io.torchfeed.spark.RankProgress;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.executor.BarrierRank;
import io.torchfeed.spark.link.DriverLink;
import io.torchfeed.spark.link.SerializedValue;
import java.io.IOException;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.jspecify.annotations.Nullable;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** The job of one training: it runs the ranks, and ends them when one of them fails. */
final class RankJob implements DriverLink.Listener {
  private final SparkContext spark;
  private final String tag;
  private final Consumer<RankProgress> onProgress;
  private @Nullable SparkRanksException failure;

  RankJob(SparkContext spark, String name, Consumer<RankProgress> onProgress) {
    this.spark = spark;
    this.tag = "torchfeed-" + name;
    this.onProgress = onProgress;
  }

  @Override
  public void progress(RankProgress progress) {
    try {
      onProgress.accept(progress);
    } catch (RuntimeException | Error e) {
      fail(new SparkRanksException(Problem.FAILED, "the consumer of progress failed: " + e, e));
    }
  }

  @Override
  public void failure(int rank, byte[] serialized) {
    try {
      Throwable cause = (Throwable) SerializedValue.read(serialized);
      fail(
          cause instanceof SparkRanksException known
              ? new SparkRanksException(
                  known.problem(), "rank %d: %s".formatted(rank, known.getMessage()), known)
              : new SparkRanksException(
                  Problem.FAILED,
                  "rank %d failed: %s%s".formatted(rank, cause, adviceOnMemory(cause)),
                  cause));
    } catch (IOException | ClassNotFoundException | RuntimeException e) {
      fail(
          new SparkRanksException(
              Problem.FAILED,
              "rank %d failed, and its failure cannot be read; it is in the executor's log"
                  .formatted(rank),
              e));
    }
  }

  private static String adviceOnMemory(Throwable cause) {
    if (!(cause instanceof OutOfMemoryError)) {
      return "";
    }
    boolean isHeap = String.valueOf(cause.getMessage()).contains("heap");
    return "; raise " + (isHeap ? "spark.executor.memory" : "spark.executor.memoryOverhead");
  }

  private synchronized void fail(SparkRanksException first) {
    if (failure == null) {
      failure = first;
      cancel();
    }
  }

  private void cancel() {
    try {
      spark.cancelJobsWithTag(tag);
    } catch (IllegalStateException e) {
      if (!spark.isStopped()) { // which ends all jobs
        throw e;
      }
    }
  }

  private synchronized @Nullable SparkRanksException failure() {
    return failure;
  }

  /**
   * Runs the ranks.
   *
   * @param rows one partition for each rank
   * @return the results in the order of the ranks
   */
  <R extends Serializable> List<R> run(RDD<InternalRow> rows, BarrierRank<R> rank) {
    int ranks = rows.getNumPartitions();
    spark.addJobTag(tag);
    try {
      RDD<Tuple2<Integer, byte[]>> stage =
          rows.barrier().mapPartitions(rank, false, tagOf(Tuple2.class));
      // The shuffle: Spark repeats a barrier stage only if it is not the last one of its job.
      List<Tuple2<Integer, byte[]>> results =
          JavaPairRDD.fromJavaRDD(stage.toJavaRDD()).partitionBy(new HashPartitioner(1)).collect();
      SparkRanksException own = failure();
      if (own != null) {
        throw own;
      }
      return inOrder(results, ranks);
    } catch (Exception e) { // Scala throws checked exceptions without declaring them
      cancel(); // still runs if this thread was interrupted
      throw named(e);
    } finally {
      spark.removeJobTag(tag);
    }
  }

  private RuntimeException named(Exception e) {
    SparkRanksException own = failure();
    if (own != null) {
      if (own != e) {
        own.addSuppressed(e);
      }
      return own;
    }
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
      return new SparkRanksException(
          Problem.CANCELED, "the thread of the training was interrupted", e);
    }
    String message = String.valueOf(e.getMessage());
    if (message.toLowerCase(Locale.ROOT).contains("cancelled")) {
      return new SparkRanksException(Problem.CANCELED, message, e);
    }
    return new SparkRanksException(
        Problem.LOST, "Spark has given up the training: " + message + adviceOn(message), e);
  }

  private static String adviceOn(String message) {
    if (message.contains("SerializedLambda") || message.contains("ClassNotFoundException")) {
      return "; the executors lack classes of torchfeed-spark or of the program: name their jars by"
          + " --jars or spark.executor.extraClassPath";
    }
    return message.contains("ExecutorLostFailure")
        ? "; an executor that is killed from outside needs more memory in most cases: raise"
            + " spark.executor.memoryOverhead, and read its log"
        : "";
  }

  private static <R> List<R> inOrder(List<Tuple2<Integer, byte[]>> results, int ranks)
      throws IOException, ClassNotFoundException {
    Object[] inOrder = new Object[ranks];
    for (Tuple2<Integer, byte[]> result : results) {
      inOrder[result._1()] = SerializedValue.read(result._2());
    }
    @SuppressWarnings("unchecked") // the ranks' function has returned them
    List<R> typed = (List<R>) Arrays.asList(inOrder);
    return typed;
  }

  private static <T> ClassTag<T> tagOf(Class<?> type) {
    return ClassTag$.MODULE$.apply(type);
  }
}
