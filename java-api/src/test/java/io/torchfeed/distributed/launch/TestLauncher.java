// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.distributed.TestRank;
import io.torchfeed.testing.TestJvm;

/** A separate launching process of two sleeping ranks, for {@link LauncherTest}. */
public final class TestLauncher {
  private TestLauncher() {}

  public static void main(String[] args) throws InterruptedException {
    Launcher.builder()
        .ranks(2)
        .mainClass(TestRank.class)
        .arguments("sleep")
        .jvmOptions(TestJvm.SHORT_LIVED.toArray(new String[0]))
        .jvmOptions("-Xshare:auto")
        .build()
        .run();
  }
}
