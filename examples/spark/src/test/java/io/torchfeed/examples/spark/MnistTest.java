// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.spark.job.SparkRanks;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MnistTest {
  private static final int IMAGES = 40;

  @Test
  void wrongOptionsAreRefused() {
    StringWriter text = new StringWriter();

    int status =
        Mnist.line()
            .setErr(new PrintWriter(text, true))
            .execute("--master", "local[2]", "--ranks", "0");

    assertThat(status).isEqualTo(2);
    assertThat(text.toString()).contains("must be above 0");
  }

  @Test
  @Tag("cluster")
  void twoRanksLearnImagesFromParquet(@TempDir Path folder) throws IOException {
    SparkSession spark = Sparks.start("local[2]", folder.resolve("spark"));
    try {
      Dataset<Row> images =
          MnistRows.stored(spark, images(), folder.resolve("images.parquet").toUri().toString());

      List<byte[]> models =
          SparkRanks.on(images)
              .ranks(2)
              .columns(MnistTask.columns())
              .train(new MnistTask(5, 5, 0.03, 0.5, 1));

      assertThat(models.get(0)).isEqualTo(models.get(1));
      assertThat(Mnist.accuracy(models.get(0), images)).isEqualTo(1);
    } finally {
      spark.stop();
    }
  }

  /** Returns images whose upper half is bright, with label 0, and others with label 1. */
  private static List<Row> images() {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < IMAGES; i++) {
      byte[] pixels = new byte[MnistRows.SIDE * MnistRows.SIDE];
      int half = pixels.length / 2;
      Arrays.fill(pixels, i % 2 * half, i % 2 * half + half, (byte) (150 + i));
      rows.add(RowFactory.create(pixels, i % 2));
    }
    return rows;
  }
}
