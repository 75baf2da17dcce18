// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.util.stream.Collectors.toCollection;
import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The files of a circle use each other, directly or not: none is understood by itself. */
@AnalyzeClasses(packages = "io.torchfeed", importOptions = ImportOption.DoNotIncludeTests.class)
class FileCirclesTest {
  private static final int MAX_CIRCLE = 5;

  @ArchTest
  static void circlesOfFilesStaySmall(JavaClasses classes) throws IOException {
    Map<String, Set<String>> uses = new HashMap<>(SourceUses.of(ArchitectureTest.MODULES));
    for (JavaClass type : classes) {
      Set<String> used = uses.computeIfAbsent(file(type).getName(), key -> new HashSet<>());
      Stream.concat(
              type.getDirectDependenciesFromSelf().stream().map(Dependency::getTargetClass),
              permitted(type, classes))
          .map(FileCirclesTest::file)
          .filter(to -> to.getPackageName().startsWith("io.torchfeed"))
          .map(JavaClass::getName)
          .forEach(used::add);
    }
    assertThat(uses.keySet().stream().map(from -> circleOf(from, uses)).collect(toSet()))
        .as("circles of files")
        .filteredOn(circle -> circle.size() > MAX_CIRCLE)
        .isEmpty();
  }

  private static Set<String> circleOf(String from, Map<String, Set<String>> uses) {
    return reached(from, uses).stream()
        .filter(to -> reached(to, uses).contains(from))
        .collect(toCollection(TreeSet::new));
  }

  /** Returns the classes that a sealed type names, which the class file does not count as uses. */
  private static Stream<JavaClass> permitted(JavaClass type, JavaClasses classes) {
    Class<?>[] permitted = type.reflect().getPermittedSubclasses();
    return permitted == null ? Stream.of() : Stream.of(permitted).map(classes::get);
  }

  /** Returns the class after which the file of a class is named. */
  private static JavaClass file(JavaClass type) {
    JavaClass element = type.getBaseComponentType();
    return element.getEnclosingClass().map(FileCirclesTest::file).orElse(element);
  }

  private static Set<String> reached(String from, Map<String, Set<String>> uses) {
    Set<String> reached = new HashSet<>();
    Deque<String> left = new ArrayDeque<>(List.of(from));
    while (!left.isEmpty()) {
      for (String to : uses.getOrDefault(left.pop(), Set.of())) {
        if (reached.add(to)) {
          left.push(to);
        }
      }
    }
    return reached;
  }
}
