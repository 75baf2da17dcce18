// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compiles the programs that users copy: each preformatted {@code @code} block of the Javadoc and
 * each Java block of the guides, in one run of the compiler. A block with anything else is {@code
 * @literal}. A program is the body of a method of a class that inherits {@link #CONTEXT}, the names
 * that programs use without declaring them; its variables may hide them.
 */
class ProgramsTest {
  private static final Path MAIN = Path.of("src", "main", "java");
  private static final Path ROOT = Path.of("..");

  private static final Pattern JAVADOC_BLOCK =
      Pattern.compile("<pre>\\{@code\\n(.*?)\\n *\\* ?\\}</pre>", Pattern.DOTALL);
  private static final Pattern GUIDE_BLOCK = Pattern.compile("```java\\n(.*?)```", Pattern.DOTALL);
  private static final Pattern MARGIN = Pattern.compile("^ *\\* ?", Pattern.MULTILINE);
  private static final Pattern ELLIPSIS = Pattern.compile("^( *)\\.\\.\\.$", Pattern.MULTILINE);
  private static final Pattern NAME = Pattern.compile("\\b[A-Z]\\w*\\b");

  /** The first lines of every program; torchfeed's own types are imported by name. */
  private static final String IMPORTS =
      """
      import static org.bytedeco.pytorch.global.torch.*;
      import java.io.*;
      import java.net.URI;
      import java.nio.charset.StandardCharsets;
      import java.nio.file.*;
      import java.util.*;
      import org.bytedeco.javacpp.*;
      import org.bytedeco.pytorch.*;
      import org.bytedeco.pytorch.global.torch;
      import org.jspecify.annotations.Nullable;
      """;

  private static final String CONTEXT =
      """
      Path root, file;
      Tensor images, labels;
      LinearImpl net;
      SGD optimizer;
      ProcessGroup group;
      DistributedDataParallel model;
      DataParallelOptions options;
      DataLoader loader;
      Batches batches;
      List<Batch> firstBatches;
      Batch lastBatch;
      String checkpoint;
      Sampler sampler;
      SamplerState state;
      Part part;
      Costs costs, lengths;
      ImagePlan plan;
      ImageTensorPlan tensorPlan;
      Dataset dataset;
      List<byte[]> files;
      LineCursor lines;
      long seed, epoch;
      int rank, batchSize;
      long[] indices;
      double seconds;
      static class Train {}
      abstract Tensor loss(Batch batch);
      abstract Tensor meanLoss(Batch batch);
      abstract long tokens(Batch batch);
      abstract void train(Tensor input, Tensor target);
      abstract void step(Tensor input, Tensor target);
      abstract void save(int rank, StateDict state);
      abstract StateDict saved(int rank);
      abstract void use(byte[] bytes, int start, int length);
      """;

  /** Declarations for one file that hide names of {@link #CONTEXT}. */
  private static final Map<String, String> OWN_CONTEXT =
      Map.of(
          "BatchMix.java", "Dataset images;",
          "Checkpoints.java",
              "Path folder; TrainingState state; long steps; abstract void train(long step);",
          "Collectives.java", "TextPartition plan;",
          "ElasticGroup.java",
              "Membership membership; TrainingState state;"
                  + " long step; long lastStep; abstract void train(ElasticGroup ranks);",
          "ElasticRanks.java", "String host, name; int port; TensorDataset data;",
          "EdgeLoader.java", "TextPartition plan;",
          "FileDataset.java", "Path images, labels;",
          "Generations.java", "Path folder; Membership membership;",
          "RowTransform.java", "NativeDataset images;",
          "Shards.java", "Checkpoints checkpoints; TrainingState state; long step;");

  private final List<String> programs = new ArrayList<>();

  @Test
  void theProgramsOfJavadocAndGuidesCompile(@TempDir Path folder) throws IOException {
    Map<String, String> types = typesOfTorchfeed();
    for (Path file : files(MAIN, ".java")) {
      for (MatchResult block : blocks(JAVADOC_BLOCK, file)) {
        write(folder, file, MARGIN.matcher(block.group(1)).replaceAll(""), types);
      }
    }
    int ofJavadoc = programs.size();
    for (Path file : guides()) {
      for (MatchResult block : blocks(GUIDE_BLOCK, file)) {
        write(folder, file, block.group(1), types);
      }
    }
    assertThat(ofJavadoc).isGreaterThan(30);
    assertThat(programs).hasSizeGreaterThan(ofJavadoc + 2);

    assertThat(messagesOfTheCompiler(folder.resolve("classes"))).isEmpty();
  }

  private String messagesOfTheCompiler(Path classes) {
    String classPath =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    List<String> arguments = new ArrayList<>(List.of("-proc:none", "-Xlint:none", "-nowarn"));
    arguments.addAll(List.of("-cp", classPath, "-d", classes.toString()));
    arguments.addAll(programs);
    StringWriter messages = new StringWriter();
    PrintWriter writer = new PrintWriter(messages, true);
    ToolProvider compiler = ToolProvider.findFirst("javac").orElseThrow();
    compiler.run(writer, writer, arguments.toArray(String[]::new));
    return messages.toString();
  }

  /** Writes a program, in a package that is named after the file in which it was found. */
  private void write(Path folder, Path file, String block, Map<String, String> types)
      throws IOException {
    String name = file.getFileName().toString();
    String own = OWN_CONTEXT.getOrDefault(name, "");
    String body = ELLIPSIS.matcher(block).replaceAll("$1;");
    String inPackage = "%s_%d".formatted(name.replaceAll("\\W", "_"), programs.size());
    StringBuilder source = new StringBuilder("package " + inPackage + ";\n").append(IMPORTS);
    NAME.matcher(CONTEXT + own + body)
        .results()
        .map(MatchResult::group)
        .distinct()
        .filter(types::containsKey)
        .forEach(type -> source.append("import %s;%n".formatted(types.get(type))));
    source
        .append("abstract class Context {\n" + CONTEXT + "}\n")
        .append("abstract class Program extends Context {\n" + own + "\n")
        .append("void run() throws Exception {\n" + body + "\n}\n}\n");
    Path program = Files.createDirectories(folder.resolve(inPackage)).resolve("Program.java");
    programs.add(Files.writeString(program, source).toString());
  }

  /** The name of each public type that a file has, and in which package it is. */
  private static Map<String, String> typesOfTorchfeed() throws IOException {
    Map<String, String> types = new TreeMap<>();
    for (Path file : files(MAIN, ".java")) {
      String type = MAIN.relativize(file).toString().replace(".java", "").replace('/', '.');
      types.put(type.substring(type.lastIndexOf('.') + 1), type);
    }
    return types;
  }

  /**
   * The Markdown files, but for the guide whose programs are run by {@link GuideTest}, and the
   * guides of the modules for Spark and Parquet, which compile their own.
   */
  private static List<Path> guides() throws IOException {
    List<Path> guides = new ArrayList<>(List.of(ROOT.resolve("README.md")));
    for (String folder : List.of("java-api", "native", "examples")) {
      guides.addAll(files(ROOT.resolve(folder), ".md"));
    }
    guides.removeIf(guide -> guide.endsWith("FROM_PYTORCH.md"));
    guides.removeIf(guide -> guide.startsWith(ROOT.resolve("java-api").resolve("spark")));
    guides.removeIf(guide -> guide.startsWith(ROOT.resolve("java-api").resolve("parquet")));
    return guides;
  }

  private static List<Path> files(Path folder, String ending) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files
          .filter(file -> file.toString().endsWith(ending) && !file.toString().contains("/target/"))
          .sorted()
          .toList();
    }
  }

  private static List<MatchResult> blocks(Pattern pattern, Path file) throws IOException {
    Matcher matcher = pattern.matcher(Files.readString(file));
    return matcher.results().toList();
  }
}
