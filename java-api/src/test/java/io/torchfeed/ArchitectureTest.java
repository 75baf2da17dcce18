// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static com.tngtech.archunit.core.domain.JavaAccess.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import jdk.jfr.Event;

@AnalyzeClasses(packages = "io.torchfeed", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
  @ArchTest
  static final ArchRule bindingsStandAlone =
      noClasses()
          .that()
          .resideInAPackage("io.torchfeed.bindings")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.torchfeed",
              "io.torchfeed.data..",
              "io.torchfeed.distributed..",
              "io.torchfeed.memory..",
              "io.torchfeed.partition..",
              "io.torchfeed.sampler..");

  @ArchTest
  static final ArchRule samplersKnowBindingsOnly =
      noClasses()
          .that()
          .resideInAPackage("io.torchfeed.sampler..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.torchfeed",
              "io.torchfeed.data..",
              "io.torchfeed.distributed..",
              "io.torchfeed.memory..",
              "io.torchfeed.partition..");

  @ArchTest
  static final ArchRule samplersSeeNoTensor =
      noClasses()
          .that()
          .resideInAPackage("io.torchfeed.sampler..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("org.bytedeco.pytorch..");

  @ArchTest
  static final ArchRule partitionsStandAlone =
      noClasses()
          .that()
          .resideInAPackage("io.torchfeed.partition..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.torchfeed",
              "io.torchfeed.bindings..",
              "io.torchfeed.data..",
              "io.torchfeed.distributed..",
              "io.torchfeed.memory..",
              "io.torchfeed.sampler..",
              "org.bytedeco..");

  // Its lines may be a stream of the loader: data knows partition, which knows nothing of data.
  @ArchTest
  static final ArchRule dataKnowsNothingOfProcesses =
      noClasses()
          .that()
          .resideInAPackage("io.torchfeed.data..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.torchfeed", "io.torchfeed.distributed..");

  @ArchTest
  static final ArchRule distributedKnowsNothingOfData =
      noClasses()
          .that()
          .resideInAPackage("io.torchfeed.distributed..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.torchfeed", "io.torchfeed.data..");

  // The first event of a process costs more than a tenth of a second: only for a recording.
  @ArchTest
  static final ArchRule eventsAreMadeWhereARecordingIsAskedFor =
      noClasses()
          .that()
          .doNotHaveFullyQualifiedName("io.torchfeed.data.LoaderEvents")
          .and()
          .areNotAssignableTo(Event.class)
          .should()
          .callConstructorWhere(target(owner(assignableTo(Event.class))));

  @ArchTest
  static final ArchRule publicClassesAreFinalOrInterfaces =
      classes()
          .that()
          .arePublic()
          .and()
          .resideOutsideOfPackage("io.torchfeed.bindings")
          .and()
          .areNotInterfaces()
          .and()
          .areNotEnums()
          .should()
          .haveModifier(com.tngtech.archunit.core.domain.JavaModifier.FINAL);
}
