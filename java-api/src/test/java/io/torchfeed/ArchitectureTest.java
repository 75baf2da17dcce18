// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaAccess.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.JavaModifier.ABSTRACT;
import static com.tngtech.archunit.core.domain.JavaModifier.FINAL;
import static com.tngtech.archunit.core.domain.JavaModifier.PUBLIC;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static java.util.Objects.requireNonNull;
import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.flatMapping;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import jdk.jfr.Event;
import org.bytedeco.pytorch.Tensor;

@AnalyzeClasses(packages = "io.torchfeed", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
  /** The sources of modules that have no classes yet when these tests run. */
  static final List<Path> MODULES =
      List.of(Path.of("spark", "src", "main", "java"), Path.of("parquet", "src", "main", "java"));

  private static final Pattern IMPORT =
      Pattern.compile("^import (?:static )?[\\w.]+\\.(\\w+);", Pattern.MULTILINE);
  private static final Pattern NO_CODE =
      Pattern.compile(
          "(?s:/\\*.*?\\*/)|//.*|^import .*|'\"'"
              + "|(?s:\"\"\".*?\"\"\")|\"(?:[^\"\\\\\n]|\\\\.)*\"",
          Pattern.MULTILINE);
  private static final Pattern FULL_NAME =
      Pattern.compile("(?<!\")io\\.torchfeed(?:\\.\\w+)*\\.(?:@\\w+ )?[A-Z]\\w*");
  private static final Pattern SOURCE = Pattern.compile("\\.(java|cc|h)$");
  private static final Pattern WORD = Pattern.compile("\\w+");
  private static final int MAX_LINES = 400;
  private static final int MAX_TESTS = 45;

  @ArchTest
  static void everyArrowBetweenPackagesIsDeclared(JavaClasses classes) {
    for (JavaClass from : classes) {
      String name = relative(from);
      assertThat(Arrows.ALL).as("a package without rules").containsKey(name);
      for (Dependency dependency : from.getDirectDependenciesFromSelf()) {
        JavaClass to = dependency.getTargetClass().getBaseComponentType();
        if (to.getPackageName().startsWith("io.torchfeed") && !relative(to).equals(name)) {
          assertThat(Arrows.ALL.get(name)).as(dependency.getDescription()).contains(relative(to));
        }
      }
    }
  }

  @ArchTest
  static void everyArrowOfOtherModulesIsDeclaredAndUsed(JavaClasses classes) throws IOException {
    Map<String, Set<String>> declared = new TreeMap<>(Arrows.ALL);
    declared.keySet().removeIf(name -> !isOfOtherModule(name));
    assertThat(SourceUses.ofPackages(SourceUses.of(MODULES))).isEqualTo(declared);
  }

  /** Its jar has no module-info to hide them. */
  @ArchTest
  static void theHiddenPackagesOfSparkHaveNoJavadoc(JavaClasses classes) throws IOException {
    String pom = Files.readString(Path.of("spark", "pom.xml"));
    String hidden = pom.replaceFirst("(?s).*<excludePackageNames>(.*)</exclude.*", "$1");
    assertThat(hidden.replace("io.torchfeed.", "").split(":"))
        .containsExactlyInAnyOrder(
            Arrows.HIDDEN.stream()
                .filter(ArchitectureTest::isOfOtherModule)
                .toArray(String[]::new));
  }

  private static boolean isOfOtherModule(String name) {
    return name.matches("(spark|parquet)(\\..*)?");
  }

  /** Javadoc has full names instead: an import for it is an arrow that classes do not show. */
  @ArchTest
  static void noImportIsForJavadocAlone(JavaClasses classes) throws IOException {
    for (Path file : sources("src", "spark/src", "parquet/src")) {
      String source = Files.readString(file);
      String code = withoutComments(source);
      Set<String> names = WORD.matcher(code).results().map(MatchResult::group).collect(toSet());
      assertThat(IMPORT.matcher(source).results().map(statement -> statement.group(1)))
          .as("imports of %s", file)
          .allSatisfy(name -> assertThat(names).contains(name));
    }
  }

  /** Returns the code of a file without imports and texts. */
  static String withoutComments(String source) {
    return NO_CODE.matcher(source).replaceAll("");
  }

  /** Bindings have other names than classes of the API, so that every class can be imported. */
  @ArchTest
  static void noClassOfOursIsNamedInFull(JavaClasses classes) throws IOException {
    for (Path file : sources("src/main", "spark/src/main", "parquet/src/main")) {
      String code = withoutComments(Files.readString(file));
      assertThat(FULL_NAME.matcher(code).results().map(MatchResult::group))
          .as("%s", file)
          .isEmpty();
    }
  }

  @ArchTest
  static void everyDeclaredArrowIsUsed(JavaClasses classes) {
    Map<String, Set<String>> used =
        classes.stream()
            .collect(
                groupingBy(
                    ArchitectureTest::relative, flatMapping(ArchitectureTest::targets, toSet())));
    Map<String, Set<String>> declared = new TreeMap<>(Arrows.ALL);
    declared.keySet().removeIf(ArchitectureTest::isOfOtherModule);
    assertThat(declared)
        .allSatisfy((name, arrows) -> assertThat(used.get(name)).as(name).containsAll(arrows));
  }

  private static Stream<String> targets(JavaClass from) {
    return from.getDirectDependenciesFromSelf().stream()
        .map(dependency -> relative(dependency.getTargetClass().getBaseComponentType()));
  }

  static String relative(JavaClass type) {
    return type.getPackageName().replaceFirst("^io\\.torchfeed(\\.|$)", "");
  }

  @ArchTest
  static void packagesStaySmall(JavaClasses classes) throws IOException {
    Map<String, Long> files =
        classes.stream()
            .filter(type -> type.isTopLevelClass() && !type.getSimpleName().equals("package-info"))
            .collect(groupingBy(ArchitectureTest::relative, counting()));
    SourceUses.of(MODULES)
        .keySet()
        .forEach(type -> files.merge(SourceUses.packageOf(type), 1L, Long::sum));
    assertThat(files)
        .allSatisfy(
            (name, count) ->
                assertThat(count)
                    .as(name)
                    .isLessThanOrEqualTo(name.startsWith("distributed") ? 20 : 45));
    Map<String, Long> published =
        classes.stream()
            .filter(ArchitectureTest::isPublished)
            .collect(groupingBy(ArchitectureTest::relative, counting()));
    assertThat(published)
        .allSatisfy((name, count) -> assertThat(count).as(name).isLessThanOrEqualTo(30));
    Map<String, Long> topLevel =
        classes.stream()
            .filter(type -> type.isTopLevelClass() && isPublished(type))
            .collect(groupingBy(ArchitectureTest::relative, counting()));
    assertThat(topLevel)
        .allSatisfy((name, count) -> assertThat(count).as(name).isLessThanOrEqualTo(20));
  }

  /** Returns whether users see a type, which may be nested in others that they see. */
  static boolean isPublished(JavaClass type) {
    return type.getModifiers().contains(PUBLIC)
        && !Arrows.HIDDEN.contains(relative(type))
        && type.getEnclosingClass().map(ArchitectureTest::isPublished).orElse(true);
  }

  @ArchTest
  static void filesAreNotTooLong(JavaClasses classes) throws IOException {
    Map<String, Integer> tooLong = new TreeMap<>();
    for (Path file :
        sources(
            "src",
            "spark/src",
            "parquet/src",
            "../native/src",
            "../native/include",
            "../native/test")) {
      int lines = Files.readAllLines(file).size();
      if (lines > MAX_LINES) {
        tooLong.merge(file.getFileName().toString(), lines, Math::max);
      }
    }
    assertThat(tooLong).as("files over %d lines; cut them", MAX_LINES).isEmpty();
  }

  private static List<Path> sources(String... folders) throws IOException {
    List<Path> sources = new ArrayList<>();
    for (String folder : folders) {
      try (Stream<Path> files = Files.walk(Path.of(folder))) {
        files.filter(path -> SOURCE.matcher(path.toString()).find()).forEach(sources::add);
      }
    }
    return sources;
  }

  private static String folderOf(Path file) {
    return requireNonNull(file.getParent()).toString();
  }

  @ArchTest
  static void foldersOfTestsStaySmall(JavaClasses classes) throws IOException {
    Map<String, Long> counts = new TreeMap<>();
    for (Path file : sources("src/test", "spark/src/test", "parquet/src/test", "../native/test")) {
      counts.merge(folderOf(file), 1L, Long::sum);
    }
    assertThat(counts)
        .allSatisfy((folder, count) -> assertThat(count).as(folder).isLessThanOrEqualTo(MAX_TESTS));
  }

  /** They run where libtorch's library is not installed. */
  @ArchTest
  static final ArchRule samplersTextGraphsAndTheLauncherNeedNoLibtorch =
      noClasses()
          .that()
          .resideInAnyPackage(
              "io.torchfeed.distributed.launch..",
              "io.torchfeed.distributed.membership..",
              "io.torchfeed.graph..",
              "io.torchfeed.internal..",
              "io.torchfeed.sampler..",
              "io.torchfeed.storage..",
              "io.torchfeed.text..")
          .and()
          .resideOutsideOfPackage("io.torchfeed.sampler.torch")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("org.bytedeco..", "io.torchfeed.bindings..");

  @ArchTest
  static final ArchRule samplersOfLibtorchUseNoTensors =
      noClasses()
          .that()
          .resideInAPackage("io.torchfeed.sampler.torch")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("org.bytedeco.pytorch..");

  @ArchTest
  static final ArchRule distributedKnowsOfSamplersOnlyThePart =
      noClasses()
          .that()
          .resideInAPackage("io.torchfeed.distributed..")
          .should()
          .dependOnClassesThat(resideInAPackage("io.torchfeed.sampler").and(not(type(Part.class))));

  // The first event of a process costs more than 0.1 s: create events only while recording.
  @ArchTest
  static final ArchRule eventsAreCreatedInOnePackage =
      noClasses()
          .that()
          .resideOutsideOfPackage("io.torchfeed.internal")
          .and()
          .areNotAssignableTo(Event.class)
          .should()
          .callConstructorWhere(target(owner(assignableTo(Event.class))));

  // In the presets of libtorch 2.13, such a tensor is in no scope of the caller.
  @ArchTest
  static final ArchRule bytesBecomeTensorsWithoutTheirCreate =
      noClasses()
          .should()
          .callMethodWhere(
              describe(
                  "a tensor is created from bytes",
                  call ->
                      call.getTargetOwner().isAssignableTo(Tensor.class)
                          && call.getName().equals("create")
                          && call.getTarget()
                              .getRawParameterTypes()
                              .get(0)
                              .isEquivalentTo(byte[].class)));

  @ArchTest
  static void publicClassesCannotBeExtendedUnlessTheyAreAbstract(JavaClasses classes) {
    for (JavaClass type : classes) {
      Set<JavaModifier> modifiers = type.getModifiers();
      if (modifiers.contains(PUBLIC)
          && !type.isInterface()
          && !type.isEnum()
          && !modifiers.contains(ABSTRACT)
          && !relative(type).equals("bindings")) {
        assertThat(modifiers.contains(FINAL) || type.reflect().isSealed())
            .as(type.getName())
            .isTrue();
      }
    }
  }
}
