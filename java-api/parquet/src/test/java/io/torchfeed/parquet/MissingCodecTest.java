// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.memory.DType;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A codec without its library, in a JVM of its own. */
class MissingCodecTest {
  /** Stores a file in a folder; prints the outcome. */
  public static void main(String[] arguments) {
    try {
      ParquetFiles.of(Path.of(arguments[0]))
          .rows(ParquetColumn.of("i64", DType.INT64))
          .withThreads(1)
          .store(Path.of(arguments[1]));
      System.out.println("stored");
    } catch (ParquetException e) {
      System.out.println(e.problem() + " " + e.getMessage());
    }
  }

  @Test
  void theMissingLibraryIsNamed(@TempDir Path folder) throws Exception {
    assertThat(run("snappy_v1.parquet", folder.resolve("1")))
        .contains("CODEC ")
        .contains("snappy_v1.parquet, row group 0")
        .contains("org.xerial.snappy:snappy-java");
    assertThat(run("gzip_v1.parquet", folder.resolve("2"))).contains("stored");
  }

  private static String run(String file, Path folder) throws IOException, InterruptedException {
    String paths =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    String without =
        Arrays.stream(paths.split(File.pathSeparator, -1))
            .filter(path -> !path.contains("snappy"))
            .collect(Collectors.joining(File.pathSeparator));
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                without,
                MissingCodecTest.class.getName(),
                Golden.file(file).toString(),
                folder.toString())
            .redirectErrorStream(true)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    return output;
  }
}
