// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import io.torchfeed.spark.link.SerializedValue;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;

/**
 * The files of a saved stage of a pipeline: Spark's metadata, which tells a pipeline the class that
 * loads it, and the stage itself.
 *
 * @param spark the session
 * @param path the folder
 */
record StageFiles(SparkSession spark, String path) {
  private static final String METADATA = "metadata/part-00000";
  private static final String STAGE = "stage";

  /** Writes a new folder. */
  void write(Class<?> type, String uid, Serializable stage) throws IOException {
    String metadata =
        ("{\"class\":\"%s\",\"timestamp\":%s,\"sparkVersion\":\"%s\",\"uid\":\"%s\","
                + "\"paramMap\":{},\"defaultParamMap\":{}}\n")
            .formatted(type.getName(), System.currentTimeMillis(), spark.version(), uid);
    write(METADATA, metadata.getBytes(StandardCharsets.UTF_8));
    write(STAGE, SerializedValue.of(stage));
  }

  /** Writes a file. */
  void write(String name, byte[] bytes) throws IOException {
    try (OutputStream out = files().create(new Path(path, name), false)) {
      out.write(bytes);
    }
  }

  /**
   * Reads the stage.
   *
   * @throws UncheckedIOException if it is missing, or its classes are
   */
  <T> T read(Class<T> type) {
    try (InputStream in = files().open(new Path(path, STAGE))) {
      return type.cast(SerializedValue.read(in.readAllBytes()));
    } catch (IOException e) {
      throw unreadable(e);
    } catch (ClassNotFoundException | ClassCastException e) {
      throw unreadable(new IOException(e));
    }
  }

  private UncheckedIOException unreadable(IOException e) {
    return new UncheckedIOException("the stage in %s cannot be loaded".formatted(path), e);
  }

  private FileSystem files() throws IOException {
    return new Path(path).getFileSystem(spark.sparkContext().hadoopConfiguration());
  }
}
