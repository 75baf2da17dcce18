// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.internal.RankVariables;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MembershipVariablesTest extends MembershipFixture {
  private static Map<String, String> variables(String port) {
    return new HashMap<>(
        Map.of(
            RankVariables.COORDINATOR_HOST,
            "127.0.0.1",
            RankVariables.COORDINATOR_PORT,
            port,
            RankVariables.JOB,
            "job",
            RankVariables.PROCESS,
            "p0.1"));
  }

  @Test
  void aProcessJoinsWhereTheVariablesSay() throws Exception {
    Coordinator coordinator = listen(ranks(1, 1));
    Map<String, String> variables = variables(Integer.toString(coordinator.port()));
    Membership member = MembershipVariables.join(variables);
    opened.add(member);
    assertThat(next(member, "").get().size()).isEqualTo(1);
    assertThat(events.take().processes()).containsExactly("p0.1");
  }

  @Test
  void aMissingVariableIsNamedWithTheRemedy() {
    for (String name : variables("1").keySet()) {
      Map<String, String> variables = variables("1");
      variables.remove(name);
      assertThatThrownBy(() -> MembershipVariables.join(variables))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "environment variable %s must be set, got nothing; start the program with an elastic"
                  + " launch, Launcher.builder().elasticRanks(min, max), or connect with Membership.join",
              name);
    }
  }

  @Test
  void aPortThatIsNoneIsRefused() {
    for (String port : new String[] {"0", "65536", "a"}) {
      assertThatThrownBy(() -> MembershipVariables.join(variables(port)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "environment variable TORCHFEED_COORDINATOR_PORT must be an integer in [1, 65535], got"
                  + " '%s'",
              port);
    }
  }
}
