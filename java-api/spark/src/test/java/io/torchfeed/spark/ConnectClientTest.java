// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.spark.job.SparkRanks;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.tools.ToolProvider;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The class path of a client of Spark Connect: none of the other classes of Spark's, and a {@code
 * Dataset} as in Spark 3.5, without a plan, or as in Spark 4, which refuses to give it.
 */
class ConnectClientTest {
  private static final List<String> SOURCES =
      List.of(
          "package org.apache.spark.sql; public class Dataset<T> {}",
          "package org.apache.spark.sql.connect;"
              + " public class Dataset<T> extends org.apache.spark.sql.Dataset<T> {"
              + " public Object queryExecution() { throw new UnsupportedOperationException(); }}");

  @Test
  void aDataFrameOfSparkConnectIsRefusedByNameWithoutSparksClasses(@TempDir Path folder)
      throws Exception {
    try (URLClassLoader client = client(folder)) {
      Class<?> api = client.loadClass("org.apache.spark.sql.Dataset");
      Class<?> model = client.loadClass(RankModel.class.getName());
      Class<?> ranks = client.loadClass(SparkRanks.class.getName());
      for (Class<?> type : List.of(api, client.loadClass("org.apache.spark.sql.connect.Dataset"))) {
        Object rows = type.getConstructor().newInstance();
        requireRefusal(type, () -> ranks.getMethod("on", api).invoke(null, rows));
        requireRefusal(
            type, () -> ranks.getMethod("transform", api, model).invoke(null, rows, null));
      }
    }
  }

  /** Returns a loader without Spark and Hadoop. */
  private static URLClassLoader client(Path folder) throws IOException {
    List<String> command = new ArrayList<>(List.of("-d", folder.toString()));
    for (String source : SOURCES) {
      Path file = folder.resolve(Integer.toString(command.size())).resolve("Dataset.java");
      Files.createDirectories(requireNonNull(file.getParent()));
      command.add(Files.writeString(file, source).toString());
    }
    ByteArrayOutputStream messages = new ByteArrayOutputStream();
    int status =
        ToolProvider.getSystemJavaCompiler()
            .run(null, messages, messages, command.toArray(String[]::new));
    assertThat(status).as(messages.toString(StandardCharsets.UTF_8)).isZero();
    List<URL> classPath = new ArrayList<>(List.of(folder.toUri().toURL()));
    String own =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    for (String entry : own.split(":", -1)) {
      if (!entry.contains("/org/apache/")) {
        classPath.add(Path.of(entry).toUri().toURL());
      }
    }
    return new URLClassLoader(classPath.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
  }

  private static void requireRefusal(Class<?> type, ThrowingCallable call) {
    assertThatThrownBy(call)
        .cause()
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("must be of a session in the driver's JVM")
        .hasMessageContaining("Spark Connect, " + type.getName());
  }
}
