// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.RowColumn;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The kinds of rows of which rates are measured. */
enum RateRows {
  /** As MNIST's. */
  IMAGES {
    @Override
    StructType schema() {
      return new StructType().add("x", DataTypes.BinaryType).add("y", DataTypes.IntegerType);
    }

    @Override
    RowColumn[] columns() {
      return new RowColumn[] {
        RowColumn.of("x", DType.UINT8, PIXELS), RowColumn.of("y", DType.INT64)
      };
    }

    @Override
    Row row(Random random) {
      byte[] pixels = new byte[PIXELS];
      random.nextBytes(pixels);
      return RowFactory.create(pixels, random.nextInt(CLASSES));
    }
  },
  /** An array of single-precision numbers, and a number. */
  FEATURES {
    @Override
    StructType schema() {
      return new StructType()
          .add("x", DataTypes.createArrayType(DataTypes.FloatType, false))
          .add("y", DataTypes.FloatType);
    }

    @Override
    RowColumn[] columns() {
      return new RowColumn[] {
        RowColumn.of("x", DType.FLOAT32, FEATURE_COUNT), RowColumn.of("y", DType.FLOAT32)
      };
    }

    @Override
    Row row(Random random) {
      float[] features = new float[FEATURE_COUNT];
      for (int i = 0; i < FEATURE_COUNT; i++) {
        features[i] = random.nextFloat();
      }
      return RowFactory.create(features, random.nextFloat());
    }
  },
  /** Three numbers, as in {@link RatingsData}. */
  RATINGS {
    @Override
    StructType schema() {
      return new StructType()
          .add("user", DataTypes.LongType)
          .add("movie", DataTypes.LongType)
          .add("rating", DataTypes.FloatType);
    }

    @Override
    RowColumn[] columns() {
      return RatingsTask.columns();
    }

    @Override
    Row row(Random random) {
      return RowFactory.create(
          (long) random.nextInt(USERS), (long) random.nextInt(MOVIES), random.nextFloat());
    }
  };

  private static final int PIXELS = 784;
  private static final int FEATURE_COUNT = 64;
  private static final int CLASSES = 10;
  private static final int USERS = 1 << 20;
  private static final int MOVIES = 1 << 16;

  abstract StructType schema();

  abstract RowColumn[] columns();

  abstract Row row(Random random);

  /** Returns the bytes of a row as tensors. */
  long bytes() {
    long bytes = 0;
    for (RowColumn column : columns()) {
      bytes += column.row().bytes();
    }
    return bytes;
  }

  /** Writes rows as Parquet in one file, and returns them as Spark reads them. */
  Dataset<Row> stored(SparkSession spark, long count, String path) {
    spark
        .createDataFrame(
            spark.range(0, count, 1, 1).toJavaRDD().map(number -> row(new Random(number))),
            schema())
        .write()
        .mode(SaveMode.Overwrite)
        .option("compression", "none")
        .parquet(path);
    return spark.read().parquet(path);
  }
}
