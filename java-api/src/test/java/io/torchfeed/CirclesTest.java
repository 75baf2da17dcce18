// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

@AnalyzeClasses(packages = "io.torchfeed", importOptions = ImportOption.DoNotIncludeTests.class)
class CirclesTest {
  private static final int MAX_FILES = 5;

  /** The files of a circle use each other, directly or not: none is understood by itself. */
  @ArchTest
  static void circlesOfFilesStaySmall(JavaClasses classes) {
    Map<JavaClass, Set<JavaClass>> uses = new HashMap<>();
    for (JavaClass type : classes) {
      Set<JavaClass> used = uses.computeIfAbsent(file(type), key -> new HashSet<>());
      type.getDirectDependenciesFromSelf().stream()
          .map(dependency -> file(dependency.getTargetClass()))
          .filter(to -> to.getPackageName().equals(type.getPackageName()))
          .forEach(used::add);
    }
    for (JavaClass from : uses.keySet()) {
      Set<String> circle =
          reached(from, uses).stream()
              .filter(to -> reached(to, uses).contains(from))
              .map(JavaClass::getSimpleName)
              .collect(toSet());
      String name = ArchitectureTest.relative(from);
      assertThat(circle).as("a circle of files in %s", name).hasSizeLessThanOrEqualTo(MAX_FILES);
    }
  }

  /** Returns the class after which the file of a class is named. */
  private static JavaClass file(JavaClass type) {
    JavaClass element = type.getBaseComponentType();
    return element.getEnclosingClass().map(CirclesTest::file).orElse(element);
  }

  private static Set<JavaClass> reached(JavaClass from, Map<JavaClass, Set<JavaClass>> uses) {
    Set<JavaClass> reached = new HashSet<>();
    Deque<JavaClass> left = new ArrayDeque<>(List.of(from));
    while (!left.isEmpty()) {
      for (JavaClass to : uses.getOrDefault(left.pop(), Set.of())) {
        if (reached.add(to)) {
          left.push(to);
        }
      }
    }
    return reached;
  }
}
