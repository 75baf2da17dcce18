// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import io.torchfeed.distributed.membership.MembershipEndedException.Reason;
import io.torchfeed.internal.ParentProcess;
import io.torchfeed.internal.RankVariables;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The environment variables by which a launcher tells its processes where they join. */
final class MembershipVariables {
  private MembershipVariables() {}

  /** Joins as the variables say, and watches the launcher that has set them. */
  static Membership join(Map<String, String> variables) throws InterruptedException {
    String host = text(variables, RankVariables.COORDINATOR_HOST);
    int port = port(text(variables, RankVariables.COORDINATOR_PORT));
    String job = text(variables, RankVariables.JOB);
    String name = text(variables, RankVariables.PROCESS);
    MembershipOptions options = MembershipOptions.defaults().withJob(job).withName(name);
    Membership membership =
        Membership.join(
            host, port, JobSecret.from(variables).map(options::withSecret).orElse(options));
    ParentProcess.launcher(variables)
        .ifPresent(
            launcher ->
                LauncherWatch.start(
                    launcher,
                    new LauncherWatch.Place(
                        () -> membership.hasEnded(Reason.EXPELLED), membership::requestLeave)));
    return membership;
  }

  private static String text(Map<String, String> variables, String name) {
    @Nullable String value = variables.get(name);
    if (value == null || value.isBlank()) {
      throw new IllegalArgumentException(
          ("environment variable %s must be set, got %s; start the program with an elastic launch,"
                  + " Launcher.builder().elasticRanks(min, max), or connect with Membership.join")
              .formatted(name, value == null ? "nothing" : "'" + value + "'"));
    }
    return value.strip();
  }

  private static int port(String value) {
    try {
      int port = Integer.parseInt(value);
      if (port >= 1 && port <= CoordinatorLink.LAST_PORT) {
        return port;
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(portMessage(value), e);
    }
    throw new IllegalArgumentException(portMessage(value));
  }

  private static String portMessage(String value) {
    return "environment variable %s must be an integer in [1, %d], got '%s'"
        .formatted(RankVariables.COORDINATOR_PORT, CoordinatorLink.LAST_PORT, value);
  }
}
