// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import java.nio.file.Path;
import org.apache.spark.sql.SparkSession;

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
          .config("spark.executor.memory", "768m")
          .config("spark.executor.extraClassPath", System.getProperty("java.class.path"));
    }
    return builder.getOrCreate();
  }
}
