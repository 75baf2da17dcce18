// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.sampler.Part;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EnvironmentTest {
  private final Map<String, String> variables =
      new HashMap<>(
          Map.of(
              "RANK", "3",
              "WORLD_SIZE", "4",
              "LOCAL_RANK", "1",
              "MASTER_ADDR", "10.0.0.7",
              "MASTER_PORT", "40000"));

  @Test
  void theVariablesOfTorchrunAreRead() {
    Environment environment = Environment.of(variables);
    assertThat(environment.part()).isEqualTo(new Part(4, 3));
    assertThat(environment.localRank()).isEqualTo(1);
    assertThat(environment.master()).isEqualTo("10.0.0.7:40000");
    assertThat(environment.isLoopback()).isFalse();
    assertThat(environment.isStoreServedElsewhere()).isFalse();
  }

  @Test
  void theStoreOfTorchrunsAgentIsUsed() {
    variables.put("TORCHELASTIC_USE_AGENT_STORE", "True");
    assertThat(Environment.of(variables).isStoreServedElsewhere()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
  void aMissingVariableIsReported(String name) {
    variables.remove(name);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Environment.of(variables))
        .withMessageContaining("environment variable " + name + " must be set, got nothing");
  }

  @ParameterizedTest
  @CsvSource({
    "RANK, 4, '[0, 3]'",
    "RANK, -1, '[0, 3]'",
    "RANK, one, '[0, 3]'",
    "WORLD_SIZE, 0, at least 1",
    "LOCAL_RANK, x, '[0, 3]'",
    "MASTER_PORT, 0, '[1, 65535]'",
    "MASTER_PORT, 65536, '[1, 65535]'",
    "MASTER_PORT, 99999999999, '[1, 65535]'"
  })
  void anInvalidValueIsReportedWithItsRange(String name, String value, String range) {
    variables.put(name, value);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Environment.of(variables))
        .withMessage(
            "environment variable "
                + name
                + " must be an integer "
                + (range.startsWith("[") ? "in " : "")
                + range
                + ", got '"
                + value
                + "'");
  }

  @Test
  void aTaskOfSlurmFindsItsPlace() {
    Environment environment =
        Environment.of(
            Map.of(
                "SLURM_STEP_ID", "0",
                "SLURM_PROCID", "3",
                "SLURM_NTASKS", "4",
                "SLURM_LOCALID", "1",
                "SLURM_JOB_NODELIST", "node[1-2]",
                "SLURM_JOB_ID", "12"));
    assertThat(environment.part()).isEqualTo(new Part(4, 3));
    assertThat(environment.localRank()).isEqualTo(1);
    assertThat(environment.master()).isEqualTo("node1:20012");
    assertThat(environment.job()).isEqualTo("12");
  }

  @Test
  void theLocalRankDefaultsToTheRank() {
    variables.remove("LOCAL_RANK");
    assertThat(Environment.of(variables).localRank()).isEqualTo(3);
  }

  @Test
  void aSingleRankNeedsNoMaster() {
    Environment environment = Environment.of(Map.of("RANK", "0", "WORLD_SIZE", "1"));
    assertThat(environment.part()).isEqualTo(Part.whole());
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "127.1.2.3", "localhost", "::1"})
  void loopbackAddressesAreRecognized(String address) {
    variables.put("MASTER_ADDR", address);
    assertThat(Environment.of(variables).isLoopback()).isTrue();
  }
}
