// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.testing.TestJvm;
import java.time.Duration;

/** A separate launching process of two {@link ComingRank}s: {@code FOLDER BEHAVIOR [SILENCE]}. */
public final class ComingLauncher {
  private ComingLauncher() {}

  public static void main(String[] args) throws InterruptedException {
    CoordinatorOptions ranks = ElasticLaunchFixture.ranks(1, 2);
    Launcher.builder()
        .elasticRanks(args.length > 2 ? ranks.withSilence(Duration.parse(args[2])) : ranks)
        .mainClass(ComingRank.class)
        .jvmOptions(TestJvm.SHORT_LIVED.toArray(new String[0]))
        .jvmOptions("-Xshare:auto", "-Xmx64m")
        .arguments(args[0])
        .arguments(args[1].isEmpty() ? new String[0] : new String[] {args[1]})
        .grace(Duration.ofSeconds(5))
        .oversubscribe(true)
        .forwardSignals("USR1", "HUP")
        .build()
        .run();
  }
}
