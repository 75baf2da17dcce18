// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import io.torchfeed.examples.common.CommandException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** MNIST as rows: the 784 bytes of an image, and its label. */
final class MnistRows {
  static final String IMAGE = "image";
  static final String LABEL = "label";
  static final String DIGIT = "digit";
  static final int SIDE = 28;

  private static final StructType SCHEMA =
      new StructType().add(IMAGE, DataTypes.BinaryType).add(LABEL, DataTypes.IntegerType);
  private static final int IMAGES_HEADER = 16;
  private static final int LABELS_HEADER = 8;
  private static final int SLICES = 8;

  private MnistRows() {}

  /**
   * Reads rows of idx files.
   *
   * @param folder with files whose checksums are right
   * @param part {@code train} or {@code t10k}
   * @param most rows at most, from the first on
   */
  static List<Row> read(Path folder, String part, int most) {
    byte[] images = bytes(folder.resolve(part + "-images-idx3-ubyte"));
    byte[] labels = bytes(folder.resolve(part + "-labels-idx1-ubyte"));
    return IntStream.range(0, Math.min(most, labels.length - LABELS_HEADER))
        .mapToObj(
            i -> {
              int from = IMAGES_HEADER + i * SIDE * SIDE;
              return RowFactory.create(
                  Arrays.copyOfRange(images, from, from + SIDE * SIDE),
                  labels[LABELS_HEADER + i] & 0xff);
            })
        .toList();
  }

  private static byte[] bytes(Path file) {
    try {
      return Files.readAllBytes(file);
    } catch (IOException e) {
      throw new CommandException("Cannot read " + file + ": " + e, e);
    }
  }

  /** Writes rows as Parquet, and returns them as Spark reads them. */
  @SuppressWarnings("resource") // closing a context would end Spark
  static Dataset<Row> stored(SparkSession spark, List<Row> rows, String path) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    return Sparks.stored(
        spark, spark.createDataFrame(context.parallelize(rows, SLICES), SCHEMA), path);
  }
}
