// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/** Sparks for tests, on the loopback interface. */
public final class TestSpark {
  static final StructType POINTS =
      new StructType()
          .add("id", DataTypes.LongType)
          .add("x", DataTypes.createArrayType(DataTypes.FloatType))
          .add("y", DataTypes.FloatType);

  private static @Nullable SparkSession shared;

  private TestSpark() {}

  /** Returns Spark with two threads in this JVM, for all tests that need no other one. */
  public static synchronized SparkSession local() {
    if (shared == null || shared.sparkContext().isStopped()) {
      shared = start("local[2]", Map.of());
    }
    return shared;
  }

  /** Starts two executors, each a JVM with one slot; the caller stops them. */
  static synchronized SparkSession cluster(Map<String, String> conf) {
    if (shared != null) { // a JVM has one Spark at a time
      shared.stop();
      shared = null;
    }
    return start("local-cluster[2,1,1024]", conf);
  }

  private static SparkSession start(String master, Map<String, String> conf) {
    Path folder = folder("spark");
    SparkSession.Builder builder =
        SparkSession.builder()
            .appName("torchfeed")
            .master(master)
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.hadoop.fs.file.impl", PlainFileSystem.class.getName())
            .config("spark.local.dir", folder.resolve("local").toString())
            .config("spark.sql.warehouse.dir", folder.resolve("warehouse").toString())
            // an executor of local-cluster needs these without an installation of Spark
            .config("spark.executorEnv.SPARK_SCALA_VERSION", "2.13")
            .config("spark.executorEnv.SPARK_TESTING", "1")
            .config("spark.executorEnv.SPARK_LOCAL_IP", "127.0.0.1")
            .config("spark.executorEnv.OMP_NUM_THREADS", "1")
            .config("spark.executor.extraClassPath", System.getProperty("java.class.path"))
            .config("spark.executor.memory", "768m")
            .config(
                "spark.executor.extraJavaOptions",
                "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
                    + " -Dorg.bytedeco.javacpp.platform.extension="); // no search for CUDA
    conf.forEach(builder::config);
    return builder.getOrCreate();
  }

  /** Returns a new folder. */
  public static Path folder(String name) {
    try {
      return Files.createTempDirectory(Path.of("").toAbsolutePath(), name + "-");
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns points of a line with noise that depends on the id; the partitions differ in size. */
  public static Dataset<Row> points(SparkSession spark, int count, int partitions) {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      float[] x = {(i * 37 % 101) / 101f, (i * 53 % 97) / 97f, (i % 7) / 7f};
      rows.add(RowFactory.create((long) i, x, 2 * x[0] - x[1] + 0.5f * x[2] + i % 5 * 0.01f));
    }
    try (JavaSparkContext context = new JavaSparkContextView(spark)) {
      return spark.createDataFrame(context.parallelize(rows, partitions), POINTS);
    }
  }

  /** A context that leaves Spark running when it is closed. */
  private static final class JavaSparkContextView extends JavaSparkContext {
    JavaSparkContextView(SparkSession spark) {
      super(spark.sparkContext());
    }

    @Override
    public void close() {}
  }
}
