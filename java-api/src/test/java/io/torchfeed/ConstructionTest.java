// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static com.tngtech.archunit.core.domain.JavaModifier.ABSTRACT;
import static com.tngtech.archunit.core.domain.JavaModifier.FINAL;
import static com.tngtech.archunit.core.domain.JavaModifier.PUBLIC;
import static com.tngtech.archunit.core.domain.JavaModifier.SYNTHETIC;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaType;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.GradientExchange;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.stream.Stream;

/** The rule of CONTRIBUTING for how objects are made, over all exported packages. */
@AnalyzeClasses(packages = "io.torchfeed", importOptions = ImportOption.DoNotIncludeTests.class)
class ConstructionTest {
  private static final int MIN_OPTIONS = 5;

  private static List<JavaClass> published(JavaClasses classes) {
    List<JavaClass> published = classes.stream().filter(ArchitectureTest::isPublished).toList();
    assertThat(published).as("classes to check").hasSizeGreaterThan(100);
    return published;
  }

  @ArchTest
  static void onlyExceptionsBaseClassesAndRecordsHavePublicConstructors(JavaClasses classes) {
    List<String> constructible =
        published(classes).stream()
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

  private static Stream<JavaMethod> publicMethods(JavaClass type) {
    return type.getMethods().stream()
        .filter(method -> method.getModifiers().contains(PUBLIC))
        .filter(method -> !method.getModifiers().contains(SYNTHETIC));
  }

  private static boolean setsAnOption(JavaMethod method) {
    return method.getName().matches("with[A-Z].*") && !method.getParameters().isEmpty();
  }

  @ArchTest
  static void optionsThatAreSetByWithReturnTheirOwnType(JavaClasses classes) {
    List<JavaMethod> setters =
        published(classes).stream()
            .flatMap(ConstructionTest::publicMethods)
            .filter(ConstructionTest::setsAnOption)
            .toList();
    assertThat(setters).as("withX to check").hasSizeGreaterThan(30);
    assertThat(setters)
        .filteredOn(method -> !method.getOwner().equals(method.getRawReturnType()))
        .extracting(JavaMethod::getFullName)
        .as("withX of another type than its own")
        .isEmpty();
  }

  /** Users could not name the type; a {@code Door} leads there. */
  @ArchTest
  static void noPublicMemberHasATypeOfAHiddenPackage(JavaClasses classes) {
    List<String> members =
        published(classes).stream()
            .flatMap(type -> type.getMembers().stream())
            .filter(member -> member.getModifiers().contains(PUBLIC))
            .filter(member -> !member.getModifiers().contains(SYNTHETIC))
            .filter(
                member ->
                    typesOf(member)
                        .map(JavaClass::getBaseComponentType)
                        .anyMatch(ConstructionTest::isHidden))
            .map(JavaMember::getFullName)
            .toList();
    assertThat(members).as("public members with types that are not exported").isEmpty();
  }

  private static Stream<JavaClass> typesOf(JavaMember member) {
    Stream<JavaClass> all = member.getAllInvolvedRawTypes().stream();
    return member instanceof JavaCodeUnit unit
        ? Stream.concat(all, unit.getExceptionTypes().stream().map(JavaType::toErasure))
        : all;
  }

  private static boolean isHidden(JavaClass type) {
    return type.getPackageName().startsWith("io.torchfeed")
        && Arrows.HIDDEN.contains(ArchitectureTest.relative(type));
  }

  /** An object without a field to set is not changed; so a change is in the object returned. */
  @ArchTest
  static void optionsThatAreSetByWithLeaveTheirObjectAlone(JavaClasses classes) {
    List<JavaClass> types =
        published(classes).stream()
            .filter(type -> publicMethods(type).anyMatch(ConstructionTest::setsAnOption))
            .toList();
    assertThat(types).as("types to check").hasSizeGreaterThan(15);
    assertThat(types)
        .filteredOn(type -> !type.isEquivalentTo(DataParallelOptions.class)) // see below
        .flatExtracting(JavaClass::getAllFields)
        .filteredOn(field -> !field.getModifiers().contains(FINAL))
        .extracting(JavaField::getFullName)
        .as("fields that withX could set")
        .isEmpty();
    assertThat(types)
        .flatExtracting(JavaClass::getMethods)
        .filteredOn(method -> setsAnOption(method) && !method.getModifiers().contains(ABSTRACT))
        .filteredOn(
            method ->
                method.getConstructorCallsFromSelf().isEmpty()
                    && method.getMethodCallsFromSelf().isEmpty())
        .extracting(JavaMethod::getFullName)
        .as("withX that makes no other object")
        .isEmpty();
  }

  /** Sets fields of copies, so that its fields are not final. */
  @ArchTest
  static void optionsOfDataParallelTrainingAreCopied(JavaClasses classes) {
    DataParallelOptions defaults = DataParallelOptions.defaults();
    List<Object> before = fields(defaults);
    List<DataParallelOptions> copies =
        List.of(
            defaults.withBucketBytes(3),
            defaults.withBucketBytes(3, 4),
            defaults.withBucketBytesList(List.of(3L, 4L)),
            defaults.withFindUnusedParameters(true),
            defaults.withStaticGraph(true),
            defaults.withGradientAsBucketView(true),
            defaults.withWeightedLosses(true),
            defaults.withBufferMode(DataParallelOptions.BufferMode.BEFORE_FORWARD),
            defaults.withIgnored(List.of("weight")),
            defaults.withExchange(GradientExchange.float16()));
    assertThat(copies)
        .hasSize(
            (int)
                publicMethods(classes.get(DataParallelOptions.class))
                    .filter(ConstructionTest::setsAnOption)
                    .count())
        .allSatisfy(copy -> assertThat(fields(copy)).isNotEqualTo(before));
    assertThat(fields(defaults)).isEqualTo(before);
  }

  private static List<Object> fields(DataParallelOptions options) {
    return Stream.of(DataParallelOptions.class.getDeclaredFields())
        .filter(field -> !Modifier.isStatic(field.getModifiers()))
        .map(
            field -> {
              try {
                field.setAccessible(true);
                return field.get(options);
              } catch (IllegalAccessException e) {
                throw new AssertionError(e);
              }
            })
        .toList();
  }

  @ArchTest
  static void buildersHaveMoreThanFourOptions(JavaClasses classes) {
    List<JavaClass> builders =
        published(classes).stream()
            .filter(type -> publicMethods(type).anyMatch(m -> m.getName().equals("build")))
            .toList();
    assertThat(builders).as("builders to check").isNotEmpty();
    for (JavaClass builder : builders) {
      assertThat(
              publicMethods(builder)
                  .filter(method -> builder.isAssignableTo(method.getRawReturnType().getName()))
                  .map(JavaMethod::getName)
                  .distinct())
          .as("options of %s", builder.getName())
          .hasSizeGreaterThanOrEqualTo(MIN_OPTIONS);
    }
  }
}
