// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

/** A launching process of its own, for {@link LauncherTest}: two ranks that sleep. */
public final class TestLauncher {
  private TestLauncher() {}

  public static void main(String[] args) throws InterruptedException {
    Launcher.builder()
        .ranks(2)
        .mainClass(TestRank.class)
        .arguments("sleep")
        .jvmOptions("-Xshare:auto")
        .build()
        .run();
  }
}
