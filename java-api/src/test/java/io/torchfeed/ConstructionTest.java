// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static com.tngtech.archunit.core.domain.JavaModifier.ABSTRACT;
import static com.tngtech.archunit.core.domain.JavaModifier.PUBLIC;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import java.util.List;
import java.util.stream.Stream;

/** The rule of CONTRIBUTING for how objects are made, over all exported packages. */
@AnalyzeClasses(packages = "io.torchfeed", importOptions = ImportOption.DoNotIncludeTests.class)
class ConstructionTest {
  private static Stream<JavaClass> published(JavaClasses classes) {
    return classes.stream().filter(ArchitectureTest::isPublished);
  }

  @ArchTest
  static void onlyExceptionsBaseClassesAndRecordsHavePublicConstructors(JavaClasses classes) {
    List<String> constructible =
        published(classes)
            .filter(type -> !type.isRecord() && !type.isAssignableTo(Throwable.class))
            .filter(type -> !type.getModifiers().contains(ABSTRACT))
            .filter(
                type ->
                    type.getConstructors().stream()
                        .anyMatch(constructor -> constructor.getModifiers().contains(PUBLIC)))
            .map(JavaClass::getName)
            .toList();
    assertThat(constructible).as("types to be made by a static method, such as of").isEmpty();
  }

  @ArchTest
  static void optionsThatAreSetByWithReturnACopy(JavaClasses classes) {
    List<String> setters =
        published(classes)
            .flatMap(type -> type.getMethods().stream())
            .filter(method -> method.getName().matches("with[A-Z].*"))
            .filter(method -> method.getModifiers().contains(PUBLIC))
            .filter(method -> !method.getParameters().isEmpty())
            .filter(method -> !method.getRawReturnType().isAssignableFrom(owner(method)))
            .map(JavaMethod::getFullName)
            .toList();
    assertThat(setters).as("withX of another type than its own").isEmpty();
  }

  private static Class<?> owner(JavaMethod method) {
    return method.getOwner().reflect();
  }
}
