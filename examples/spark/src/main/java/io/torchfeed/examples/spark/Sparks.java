// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.function.BiConsumer;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;

/** Sessions of Spark, by spark-submit or on this machine without an installation. */
final class Sparks {
  private Sparks() {}

  /**
   * Starts Spark.
   *
   * @param master empty below spark-submit, which names it
   * @param folder for Spark's files, if this is not below spark-submit
   */
  static SparkSession start(String master, Path folder) {
    SparkSession.Builder builder = SparkSession.builder().appName("torchfeed");
    if (!master.isEmpty()) {
      builder
          .master(master)
          .config("spark.ui.enabled", "false")
          .config("spark.driver.host", "127.0.0.1")
          .config("spark.driver.bindAddress", "127.0.0.1")
          .config("spark.local.dir", folder.resolve("local").toString())
          .config("spark.sql.warehouse.dir", folder.resolve("warehouse").toString());
    }
    if (master.startsWith("local-cluster")) { // its executors look for an installation else
      builder
          .config("spark.executorEnv.SPARK_SCALA_VERSION", "2.13")
          .config("spark.executorEnv.SPARK_TESTING", "1")
          .config("spark.executorEnv.SPARK_LOCAL_IP", "127.0.0.1")
          // glibc keeps the memory of large tensors from step to step
          .config("spark.executorEnv.MALLOC_ARENA_MAX", "1")
          .config("spark.executorEnv.MALLOC_MMAP_THRESHOLD_", "33554432")
          .config("spark.executorEnv.MALLOC_TRIM_THRESHOLD_", "1073741824")
          .config("spark.executor.memory", "768m")
          .config("spark.executor.extraJavaOptions", "-XX:+UseSerialGC")
          .config("spark.executor.extraClassPath", System.getProperty("java.class.path"));
    }
    return builder.getOrCreate();
  }

  /**
   * Runs work with Spark, which ends with it.
   *
   * @param master empty below spark-submit, which names it
   * @param work is given a temporary folder
   */
  static void run(String master, BiConsumer<SparkSession, Path> work) throws IOException {
    Path temporary = Files.createTempDirectory("torchfeed-spark-");
    try {
      SparkSession spark = start(master, temporary);
      try {
        work.accept(spark, temporary);
      } finally {
        spark.stop();
      }
    } finally {
      delete(temporary);
    }
  }

  /** Writes rows as Parquet, and returns them as Spark reads them. */
  static Dataset<Row> stored(SparkSession spark, Dataset<Row> rows, String path) {
    rows.write().mode(SaveMode.Overwrite).parquet(path);
    return spark.read().parquet(path);
  }

  /** Deletes a temporary folder; executors that are ending delete their own files. */
  static void delete(Path folder) throws IOException {
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.deleteIfExists(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException failure)
              throws IOException {
            return unlessItVanished(failure);
          }

          @Override
          public FileVisitResult postVisitDirectory(Path left, @Nullable IOException failure)
              throws IOException {
            try {
              Files.deleteIfExists(left);
            } catch (DirectoryNotEmptyException e) {
              return FileVisitResult.CONTINUE; // an executor's, which it deletes
            }
            return failure == null ? FileVisitResult.CONTINUE : unlessItVanished(failure);
          }
        });
  }

  private static FileVisitResult unlessItVanished(IOException failure) throws IOException {
    if (failure instanceof NoSuchFileException) {
      return FileVisitResult.CONTINUE;
    }
    throw failure;
  }
}
