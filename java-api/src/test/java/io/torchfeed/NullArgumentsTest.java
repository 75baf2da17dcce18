// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import io.torchfeed.testing.PublishedCalls;
import io.torchfeed.testing.SampleArguments;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.jspecify.annotations.Nullable;

/** Calls all published methods and constructors with a wrong argument, and looks for its name. */
@AnalyzeClasses(packages = "io.torchfeed", importOptions = ImportOption.DoNotIncludeTests.class)
class NullArgumentsTest {
  /** Types of which there are objects only with a GPU. */
  private static final Set<String> OF_GPUS =
      Set.of("io.torchfeed.image.NvJpegDecoder", "io.torchfeed.memory.DeviceTransfer");

  /** Types with methods that take an index; their objects need files of images. */
  private static final Set<String> OF_IMAGES =
      Set.of(
          "io.torchfeed.data.source.ImageRecords",
          "io.torchfeed.data.source.ImageTar",
          "io.torchfeed.image.NvJpegDecoder");

  /** Parameters that number the elements of something, in packages whose calls do not wait. */
  private static final Set<String> INDEXES =
      Set.of(
          "index",
          "column",
          "row",
          "rowNumber",
          "number",
          "value",
          "position",
          "batch",
          "element",
          "from");

  private static final Set<String> CALM =
      Set.of(
          "data",
          "data.loader",
          "data.source",
          "graph",
          "image",
          "memory",
          "sampler",
          "sampler.order",
          "text");

  private static final String REPORT = "a report of a past event, which looks nothing up";
  private static final String LATE = "the number of columns is known only when a batch is made";
  private static final String STAND_IN = "the object that checks it is a stand-in in this test";

  /** Methods and constructors that need not refuse such a number, with the reason. */
  private static final Map<String, String> ALLOWED =
      Map.ofEntries(
          entry("LoaderStats$Slowest.new", REPORT),
          entry("LoaderStats$SkippedSample.new", REPORT),
          entry("LoaderInterruptedException.new", REPORT),
          entry("LoaderTimeoutException.new", REPORT),
          entry("SampleException.new", REPORT),
          entry("Batch$Step.images", LATE),
          entry("VariableLength.padded", LATE),
          entry("VariableLength.masked", LATE),
          entry("VariableLength.packed", LATE),
          entry("SampleWriter.put", STAND_IN),
          entry("ImageDecoder.decode", STAND_IN),
          entry("EdgeLoader$Builder.roundBytes", "a number of bytes, which may be 1 GiB"),
          entry("CsrMatrix.find", "returns -1, as documented"));

  /** The messages of Java and JavaCPP. */
  private static final String UNNAMED =
      "java.lang.NullPointerException(: (Cannot |Pointer address ).*)?";

  /** Segments that {@code resume} has checked, and the arguments of a JVM. */
  private static final Set<String> UNCHECKED_LISTS = Set.of("before", "args");

  private interface Check {
    void of(Class<?> type, PublishedCalls calls);
  }

  private static void forEachType(JavaClasses classes, Set<String> withoutInstance, Check check)
      throws Exception {
    List<JavaClass> types =
        classes.stream()
            .filter(ArchitectureTest::isPublished)
            .filter(type -> !type.getName().startsWith("io.torchfeed.bindings"))
            .toList();
    assertThat(types).as("types to check").hasSizeGreaterThan(200);
    try (PointerScope scope = new PointerScope();
        SampleArguments samples = new SampleArguments()) {
      PublishedCalls calls = new PublishedCalls(samples);
      for (JavaClass type : types) {
        check.of(Class.forName(type.getName()), calls);
      }
      assertThat(calls.withoutInstance()).isEqualTo(withoutInstance);
    }
  }

  @ArchTest
  static void eachArgumentThatIsNullIsNamed(JavaClasses classes) throws Exception {
    List<String> problems = new ArrayList<>();
    int[] count = {0};
    forEachType(
        classes,
        OF_GPUS,
        (type, calls) ->
            calls.withEach(
                type,
                parameter -> !parameter.getType().isPrimitive() && !isNullable(parameter),
                null,
                (parameter, outcome) -> {
                  count[0]++;
                  String named = "java.lang.NullPointerException: " + parameter.getName();
                  if (!outcome.matches(named + "\\b.*")) {
                    problems.add(PublishedCalls.name(parameter) + ", got " + outcome);
                  }
                }));
    assertThat(problems).as("arguments without a name").isEmpty();
    assertThat(count[0]).as("arguments").isGreaterThan(600);
  }

  @ArchTest
  static void eachElementThatIsNullIsNamed(JavaClasses classes) throws Exception {
    List<String> problems = new ArrayList<>();
    int[] count = {0};
    forEachType(
        classes,
        OF_GPUS,
        (type, calls) -> {
          for (Map.Entry<Class<?>, Object> each : withNull(type).entrySet()) {
            calls.withEach(
                type,
                parameter -> parameter.getType() == each.getKey(),
                each.getValue(),
                (parameter, outcome) -> {
                  count[0]++;
                  boolean isNamed = !outcome.matches(UNNAMED);
                  if (!isNamed && !UNCHECKED_LISTS.contains(parameter.getName())) {
                    problems.add(PublishedCalls.name(parameter) + ", got " + outcome);
                  }
                });
          }
        });
    assertThat(problems).as("elements without a name").isEmpty();
    assertThat(count[0]).as("arguments").isGreaterThan(60);
  }

  /** Returns lists and arrays of one null for the parameters of a type. */
  private static Map<Class<?>, Object> withNull(Class<?> type) {
    Map<Class<?>, Object> values = new HashMap<>();
    Stream.concat(Stream.of(type.getConstructors()), Stream.of(type.getMethods()))
        .flatMap(method -> Stream.of(method.getParameterTypes()))
        .forEach(
            each -> {
              if (each == List.class || each == Collection.class) {
                values.put(each, Collections.singletonList(null));
              } else if (each.isArray() && !each.getComponentType().isPrimitive()) {
                values.put(each, Array.newInstance(each.getComponentType(), 1));
              }
            });
    return values;
  }

  private static boolean isNullable(Parameter parameter) {
    return parameter.getAnnotatedType().isAnnotationPresent(Nullable.class);
  }

  @ArchTest
  static void eachIndexOutOfRangeIsNamed(JavaClasses classes) throws Exception {
    List<String> problems = new ArrayList<>();
    int[] count = {0};
    Set<String> unchecked = new TreeSet<>();
    Predicate<Parameter> isIndex =
        parameter ->
            INDEXES.contains(parameter.getName())
                && (parameter.getType() == int.class || parameter.getType() == long.class)
                && CALM.contains(packageOf(parameter));
    forEachType(
        classes,
        OF_IMAGES,
        (type, calls) -> {
          for (int wrong : new int[] {-1, 1 << 30}) {
            calls.withEach(
                type,
                isIndex,
                wrong,
                (parameter, outcome) -> {
                  count[0]++;
                  boolean isUnnamed =
                      outcome.contains("OutOfBounds") && !outcome.contains(parameter.getName());
                  if (isUnchecked(outcome)) {
                    unchecked.add(methodOf(parameter));
                  }
                  if (isUnnamed || (isUnchecked(outcome) && !isAllowed(parameter))) {
                    problems.add(PublishedCalls.name(parameter) + ", got " + outcome);
                  }
                });
          }
        });
    assertThat(problems).as("indexes without a name, or a check").isEmpty();
    assertThat(unchecked).as("those allowed").containsExactlyInAnyOrderElementsOf(ALLOWED.keySet());
    assertThat(count[0]).as("arguments").isGreaterThan(60);
  }

  private static boolean isUnchecked(String outcome) {
    return outcome.startsWith("no exception")
        || outcome.contains("NullPointerException")
        || outcome.contains("NegativeArraySizeException");
  }

  private static boolean isAllowed(Parameter parameter) {
    return ALLOWED.containsKey(methodOf(parameter));
  }

  private static String methodOf(Parameter parameter) {
    Executable method = parameter.getDeclaringExecutable();
    String type = method.getDeclaringClass().getName();
    return type.substring(type.lastIndexOf('.') + 1)
        + (method instanceof Constructor ? ".new" : "." + method.getName());
  }

  private static String packageOf(Parameter parameter) {
    String name = parameter.getDeclaringExecutable().getDeclaringClass().getPackageName();
    return name.replaceFirst("^io\\.torchfeed\\.?", "");
  }
}
