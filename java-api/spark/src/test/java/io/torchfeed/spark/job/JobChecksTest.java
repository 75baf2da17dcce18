// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class JobChecksTest {
  @Test
  void dynamicAllocationIsRefusedWhereSparkUsesIt() {
    SparkConf conf = new SparkConf(false).set("spark.dynamicAllocation.enabled", "true");

    assertThatThrownBy(
            () -> JobChecks.requireFixedExecutors(conf.clone().setMaster("spark://host:7077")))
        .isInstanceOfSatisfying(
            SparkRanksException.class,
            e -> assertThat(e.problem()).isEqualTo(Problem.DYNAMIC_ALLOCATION));
    assertThatThrownBy(
            () ->
                JobChecks.requireFixedExecutors(conf.clone().setMaster("local-cluster[2,1,1024]")))
        .isInstanceOf(SparkRanksException.class);
    assertThatCode(() -> JobChecks.requireFixedExecutors(conf.clone().setMaster("local[2]")))
        .doesNotThrowAnyException();
  }
}
