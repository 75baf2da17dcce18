// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.spark.job.SparkRanks;
import java.lang.reflect.Modifier;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The rules for classes of {@code ArchitectureTest}, which checks the files of this module, too.
 */
class ModuleRulesTest {
  private static final int PUBLISHED = 20;

  @Test
  void thePackageStaysSmallAndItsClassesCannotBeExtended() throws Exception {
    List<Class<?>> types = PublishedTypes.all();

    assertThat(types).contains(SparkRanks.class, RankModel.Forward.class);
    assertThat(types.stream().filter(type -> type.getEnclosingClass() == null))
        .hasSizeLessThanOrEqualTo(PUBLISHED);
    assertThat(types)
        .allSatisfy(
            type ->
                assertThat(
                        type.isInterface()
                            || type.isSealed()
                            || Modifier.isFinal(type.getModifiers())
                            || Modifier.isAbstract(type.getModifiers()))
                    .as("%s is final, sealed or abstract", type)
                    .isTrue());
  }
}
