// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import io.torchfeed.spark.job.SparkRanks;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.SparkSession;

/** A program that {@link SparkSubmitTest} starts by spark-submit. */
public final class SubmittedProgram {
  static final String TRAINED = "two ranks have trained the same model, loaded by ";

  private SubmittedProgram() {}

  public static void main(String... args) {
    SparkSession spark = SparkSession.builder().getOrCreate();
    try {
      LineTask task = LineTask.of(null, null);
      List<byte[]> models = LineTask.ranks(TestSpark.points(spark, 100, 2)).train(task);
      String loader =
          LineTask.ranks(TestSpark.points(spark, 100, 2))
              .train((context, rows) -> SparkRanks.class.getClassLoader().getClass().getName())
              .get(0);
      if (Arrays.equals(models.get(0), models.get(1))) {
        System.out.println(TRAINED + loader);
      }
    } finally {
      spark.stop();
    }
  }
}
