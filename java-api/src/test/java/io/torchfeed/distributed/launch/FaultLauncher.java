// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.ThreadStop;
import java.time.Duration;

/** A separate launching process of two {@link FaultRank}s, for {@link LauncherFaultTest}. */
public final class FaultLauncher {
  private FaultLauncher() {}

  public static void main(String[] args) throws InterruptedException {
    if (args[0].equals("stubborn")) {
      Thread thief = new Thread(FaultLauncher::stopHook, "thief");
      thief.setDaemon(true);
      thief.start();
    }
    Launcher.builder()
        .ranks(2)
        .mainClass(FaultRank.class)
        .jvmOptions(TestJvm.SHORT_LIVED.toArray(new String[0]))
        .arguments(args[0])
        .grace(Duration.ofMinutes(5))
        .build()
        .run();
  }

  private static void stopHook() {
    try {
      while (true) {
        ThreadStop.waiting("torchfeed-launcher-end");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (AssertionError e) {
      stopHook();
    }
  }
}
