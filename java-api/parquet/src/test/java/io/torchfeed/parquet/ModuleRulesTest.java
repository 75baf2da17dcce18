// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hardwood.reader.FilterPredicate;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.NumberColumn;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableRows;
import io.torchfeed.table.TableTensor;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rules for the public types of all modules; {@code ArchitectureTest} has the rest. */
class ModuleRulesTest {
  private static final List<Class<?>> PUBLISHED =
      List.of(
          ParquetColumn.class,
          ParquetException.class,
          ParquetException.Problem.class,
          ParquetFiles.class,
          ParquetProgress.class,
          ParquetRows.class,
          ParquetStore.class,
          ParquetStream.class);
  private static final Pattern GUIDE = Pattern.compile("```java\\n(.*?)```", Pattern.DOTALL);
  private static final Pattern JAVADOC =
      Pattern.compile("<pre>\\{@code\\n(.*?)\\n *\\* ?\\}</pre>", Pattern.DOTALL);
  private static final Pattern MARGIN = Pattern.compile("^ *\\* ?", Pattern.MULTILINE);
  private static final int CALLS = 15;

  private static final String BEFORE =
      """
      import dev.hardwood.reader.FilterPredicate;
      import io.torchfeed.data.loader.*;
      import io.torchfeed.data.source.FileDataset;
      import io.torchfeed.memory.DType;
      import io.torchfeed.parquet.*;
      import io.torchfeed.sampler.Part;
      import io.torchfeed.sampler.order.ShuffledSampler;
      import io.torchfeed.table.*;
      import java.nio.file.Path;
      import org.bytedeco.pytorch.Tensor;
      abstract class Program%d {
        abstract void step(Tensor... tensors);
        void run() throws Exception {
      """;

  private static Path module() {
    Path current = Path.of("").toAbsolutePath();
    return Files.exists(current.resolve("README.md")) ? current : current.resolve("..");
  }

  @Test
  void publicTypesAreFinalAndListed() throws IOException {
    try (Stream<Path> files = Files.walk(module().resolve("src/main/java"))) {
      List<String> declared =
          files
              .filter(file -> file.toString().endsWith(".java"))
              .filter(ModuleRulesTest::isPublic)
              .map(file -> String.valueOf(file.getFileName()).replace(".java", ""))
              .toList();
      assertThat(declared)
          .containsExactlyInAnyOrder(
              PUBLISHED.stream()
                  .filter(type -> type.getEnclosingClass() == null)
                  .map(Class::getSimpleName)
                  .toArray(String[]::new));
    }
    assertThat(PUBLISHED).allMatch(type -> Modifier.isFinal(type.getModifiers()));
  }

  private static boolean isPublic(Path file) {
    try {
      return Files.readString(file).contains("\npublic ");
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void eachArgumentThatIsNullIsNamed(@TempDir Path folder) {
    ParquetFiles files = ParquetFiles.of(Golden.file("plain.parquet"));
    ParquetColumn column = ParquetColumn.of("i64", DType.INT64);
    ParquetRows rows = files.rows(column);
    TableColumns columns = TableColumns.of(TableTensor.number("y", NumberColumn.of("i16")));
    Map<Class<?>, Object> samples =
        new HashMap<>(
            Map.of(
                ParquetFiles.class,
                files,
                ParquetColumn.class,
                column,
                ParquetRows.class,
                rows,
                ParquetStore.class,
                rows.store(folder),
                String.class,
                "x",
                DType.class,
                DType.INT64,
                Path.class,
                folder,
                TableColumns.class,
                columns,
                FittedColumns.class,
                TableRows.of(columns, List.of(Map.of("i16", 1))).fit(),
                ImagePlan.class,
                ImagePlan.builder().resize(4, 4).build()));
    samples.put(ParquetStream.class, rows.stream(1));
    samples.put(FilterPredicate.class, FilterPredicate.gt("i64", 0L));
    int calls = 0;
    for (Class<?> type : PUBLISHED) {
      for (Method method : type.getDeclaredMethods()) {
        boolean isOwn = !method.isSynthetic() && !type.isEnum() && !type.isRecord();
        if (isOwn && Modifier.isPublic(method.getModifiers())) {
          calls += callsWithNull(samples, type, method);
        }
      }
    }
    assertThat(calls).isGreaterThanOrEqualTo(CALLS);
  }

  private static int callsWithNull(Map<Class<?>, Object> samples, Class<?> type, Method method) {
    int calls = 0;
    Parameter[] parameters = method.getParameters();
    for (int i = 0; i < parameters.length; i++) {
      if (!parameters[i].getType().isPrimitive()
          && !parameters[i].getAnnotatedType().isAnnotationPresent(Nullable.class)) {
        @Nullable Object[] arguments =
            Arrays.stream(parameters).map(each -> sample(samples, each.getType())).toArray();
        arguments[i] = null;
        assertThatThrownBy(() -> invoke(method, samples.get(type), arguments))
            .as("%s", method)
            .isInstanceOf(NullPointerException.class)
            .hasMessage(parameters[i].getName());
        calls++;
      }
    }
    return calls;
  }

  @SuppressWarnings("NullAway") // a caller without null checks can pass null
  private static void invoke(Method method, @Nullable Object object, @Nullable Object[] arguments)
      throws Throwable {
    try {
      method.invoke(object, arguments);
    } catch (InvocationTargetException e) {
      throw Objects.requireNonNull(e.getCause());
    }
  }

  private static Object sample(Map<Class<?>, Object> samples, Class<?> type) {
    if (type.isArray()) {
      return Array.newInstance(type.getComponentType(), 0);
    } else if (type == List.class) {
      return List.of();
    } else if (type == Consumer.class) {
      return (Consumer<Object>) value -> {};
    } else if (type == int.class) {
      return 1;
    } else if (type == long.class) {
      return 1L;
    } else if (type == double.class) {
      return 1.0;
    }
    return Objects.requireNonNull(samples.get(type), type.getName());
  }

  @Test
  void theProgramsOfTheGuideAndTheJavadocCompile(@TempDir Path folder) throws IOException {
    List<String> programs = new ArrayList<>();
    for (MatchResult block : blocks(GUIDE, module().resolve("README.md"))) {
      programs.add(block.group(1));
    }
    int ofGuide = programs.size();
    for (Class<?> type : List.of(ParquetFiles.class, ParquetStream.class)) {
      String file = "src/main/java/io/torchfeed/parquet/%s.java".formatted(type.getSimpleName());
      for (MatchResult block : blocks(JAVADOC, module().resolve(file))) {
        programs.add(MARGIN.matcher(block.group(1)).replaceAll(""));
      }
    }
    assertThat(ofGuide).isPositive();
    assertThat(programs).hasSizeGreaterThan(ofGuide + 1);

    assertThat(messages(folder, programs)).as("messages of the compiler").isEmpty();
  }

  private static List<MatchResult> blocks(Pattern pattern, Path file) throws IOException {
    return pattern.matcher(Files.readString(file)).results().toList();
  }

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
