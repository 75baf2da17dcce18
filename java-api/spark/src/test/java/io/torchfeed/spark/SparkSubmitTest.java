// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("cluster")
class SparkSubmitTest {
  private static final long PATIENCE_SECONDS = 300;

  /** The executors have Spark alone on their class path, as on a cluster. */
  @Test
  void theJarsOfSparkSubmitReachTheExecutors(@TempDir Path folder) throws Exception {
    List<String> ofSpark = new ArrayList<>();
    List<String> ofJob = new ArrayList<>();
    String classPath =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    for (String entry : classPath.split(":", -1)) {
      boolean isOurs = Files.isDirectory(Path.of(entry)) || entry.contains("torchfeed-");
      if (isOurs || entry.contains("bytedeco") || entry.contains("jspecify")) {
        ofJob.add(jar(entry, folder.resolve("job-" + ofJob.size() + ".jar")));
      } else if (!entry.contains("junit") && !entry.contains("assertj")) {
        ofSpark.add(entry);
      }
    }
    Path log = folder.resolve("log");

    int status = run(ofSpark, ofJob, folder, log);

    assertThat(status).as(Files.readString(log)).isZero();
    assertThat(log).content().contains(SubmittedProgram.TRAINED).contains("URLClassLoader");
  }

  private static int run(List<String> ofSpark, List<String> ofJob, Path folder, Path log)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(argument -> argument.startsWith("--add-opens"))
        .forEach(command::add);
    command.addAll(
        List.of(
            "-Xmx512m",
            "-cp",
            String.join(":", ofSpark),
            "org.apache.spark.deploy.SparkSubmit",
            "--master",
            "local-cluster[2,1,1024]",
            "--jars",
            String.join(",", ofJob)));
    Map.of(
            "spark.ui.enabled", "false",
            "spark.driver.host", "127.0.0.1",
            "spark.driver.bindAddress", "127.0.0.1",
            "spark.local.dir", folder.resolve("local").toString(),
            "spark.executorEnv.SPARK_SCALA_VERSION", "2.13",
            "spark.executorEnv.SPARK_TESTING", "1",
            "spark.executorEnv.OMP_NUM_THREADS", "1",
            "spark.executor.memory", "768m",
            "spark.executor.extraClassPath", String.join(":", ofSpark))
        .forEach((name, value) -> command.addAll(List.of("--conf", name + "=" + value)));
    command.addAll(List.of("--class", SubmittedProgram.class.getName(), ofJob.get(0)));
    Process submit =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    try {
      assertThat(submit.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).as("end of it").isTrue();
      return submit.exitValue();
    } finally {
      submit.descendants().forEach(ProcessHandle::destroyForcibly);
      submit.destroyForcibly();
    }
  }

  /** Returns a jar file, or one of the files in a folder. */
  private static String jar(String entry, Path to) throws IOException {
    Path from = Path.of(entry);
    if (!Files.isDirectory(from)) {
      return entry;
    }
    try (OutputStream out = Files.newOutputStream(to);
        JarOutputStream jar = new JarOutputStream(out);
        Stream<Path> files = Files.walk(from)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        jar.putNextEntry(new JarEntry(from.relativize(file).toString()));
        Files.copy(file, jar);
        jar.closeEntry();
      }
    }
    return to.toString();
  }
}
