// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles the programs in the guide and the Javadoc of this module. */
class SparkProgramsTest {
  private static final Pattern GUIDE = Pattern.compile("```java\\n(.*?)```", Pattern.DOTALL);
  private static final Pattern JAVADOC =
      Pattern.compile("<pre>\\{@code\\n(.*?)\\n *\\* ?\\}</pre>", Pattern.DOTALL);
  private static final Pattern MARGIN = Pattern.compile("^ *\\* ?", Pattern.MULTILINE);

  private static final String BEFORE =
      """
      import static org.bytedeco.pytorch.global.torch.*;
      import io.torchfeed.data.loader.Batch;
      import io.torchfeed.distributed.training.DistributedDataParallel;
      import io.torchfeed.memory.DType;
      import io.torchfeed.sampler.order.ShuffledSampler;
      import io.torchfeed.spark.*;
      import io.torchfeed.spark.job.*;
      import io.torchfeed.spark.pipeline.*;
      import io.torchfeed.storage.*;
      import io.torchfeed.table.*;
      import io.torchfeed.text.TextPartition;
      import java.util.List;
      import org.apache.hadoop.conf.Configuration;
      import org.apache.spark.sql.Dataset;
      import org.apache.spark.sql.Row;
      import org.bytedeco.pytorch.Module;
      import org.bytedeco.pytorch.SGD;
      import org.bytedeco.pytorch.SGDOptions;
      import org.bytedeco.pytorch.Tensor;
      abstract class Program%d {
        Dataset<Row> dataFrame;
        TorchfeedNet<Net> net;
        RankTask<byte[]> task;
        RankModel.Factory factory;
        static class Net extends Module {
          Tensor forward(Tensor x) { return x; }
        }
        void run() throws Exception {
      """;

  @Test
  void theyCompile(@TempDir Path folder) throws IOException {
    Path module = module();
    List<String> programs = new ArrayList<>();
    for (MatchResult block : blocks(GUIDE, module.resolve("README.md"))) {
      programs.add(block.group(1));
    }
    int ofGuide = programs.size();
    try (Stream<Path> files = Files.walk(module.resolve("src/main/java"))) {
      for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
        for (MatchResult block : blocks(JAVADOC, file)) {
          programs.add(MARGIN.matcher(block.group(1)).replaceAll(""));
        }
      }
    }
    assertThat(ofGuide).isPositive();
    assertThat(programs).hasSizeGreaterThan(ofGuide);

    assertThat(messages(folder, programs)).as("messages of the compiler").isEmpty();
  }

  /** Tests run in the folder of the build. */
  private static Path module() {
    Path current = Path.of("").toAbsolutePath();
    return Files.exists(current.resolve("README.md")) ? current : current.resolve("..");
  }

  private static List<MatchResult> blocks(Pattern pattern, Path file) throws IOException {
    return pattern.matcher(Files.readString(file)).results().toList();
  }

  /** Compiles all programs at once, which takes a third of the time. */
  private static String messages(Path folder, List<String> programs) throws IOException {
    List<String> arguments =
        new ArrayList<>(List.of("-proc:none", "-nowarn", "-Xlint:none", "-d", folder.toString()));
    arguments.add("-cp");
    arguments.add(
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    for (int i = 0; i < programs.size(); i++) {
      Path source = folder.resolve("Program%d.java".formatted(i));
      Files.writeString(source, BEFORE.formatted(i) + programs.get(i) + "}}");
      arguments.add(source.toString());
    }
    StringWriter messages = new StringWriter();
    PrintWriter writer = new PrintWriter(messages, true);
    ToolProvider.findFirst("javac")
        .orElseThrow()
        .run(writer, writer, arguments.toArray(String[]::new));
    return messages.toString();
  }
}
