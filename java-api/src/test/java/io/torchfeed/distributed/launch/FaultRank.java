// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.rendezvous.ParentWatchdog;
import io.torchfeed.testing.ThreadStop;
import java.time.Duration;

/** The program of the ranks of {@link LauncherFaultTest}; the argument selects the behaviour. */
public final class FaultRank {
  static final int GUILTY = 5;

  private static final int STOPS = 20;

  private FaultRank() {}

  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "chatter" -> chatter();
      case "blame" -> blame();
      case "watch" -> loseWatch();
      case "stubborn" -> stubborn();
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  /** Writes lines indefinitely. */
  private static void chatter() throws InterruptedException {
    ParentWatchdog.start(System.getenv());
    while (true) {
      System.err.println("a line of " + ProcessHandle.current().pid());
      Thread.sleep(20);
    }
  }

  /** Rank 1 fails and exits slowly; rank 0 loses it and exits immediately. */
  private static void blame() throws InterruptedException {
    try (ProcessGroup group = ProcessGroup.join(GroupOptions.ofTimeout(Duration.ofMinutes(2)))) {
      if (group.rank() == 1) {
        System.err.println("no PeerLostException, but a rule of the data");
        group.close();
        Thread.sleep(1_000);
        System.exit(GUILTY);
      }
      group.barrier();
    } catch (PeerLostException e) {
      System.err.println("error: " + e.getMessage());
      System.exit(1);
    }
  }

  /** Sleeps after errors were thrown in the thread that watches the launcher. */
  private static void loseWatch() throws InterruptedException {
    ParentWatchdog.start(System.getenv());
    for (int i = 0; i < STOPS; i++) {
      ThreadStop.waiting(ParentWatchdog.THREAD);
      Thread.sleep(10);
    }
    sleep();
  }

  /** Does not exit on request. */
  private static void stubborn() throws InterruptedException {
    Runtime.getRuntime().addShutdownHook(new Thread(FaultRank::sleepOn));
    sleep();
  }

  private static void sleepOn() {
    try {
      Thread.sleep(600_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void sleep() throws InterruptedException {
    System.out.println("sleeping pid " + ProcessHandle.current().pid());
    Thread.sleep(600_000);
  }
}
