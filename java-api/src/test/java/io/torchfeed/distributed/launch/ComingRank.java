// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipEndedException;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.distributed.membership.WorldChangedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;

/**
 * A process of an elastic launch without libtorch: {@code FOLDER [NAME=BEHAVIOR]...}. It writes its
 * process id into the file of its generation and name, and trains until the folder has the file
 * {@code complete}.
 */
public final class ComingRank {
  static final String COMPLETE = "complete";
  static final int GUILTY = 5;

  private static final int STEP_MILLIS = 5;

  private final Path folder;
  private final String name = System.getenv("TORCHFEED_PROCESS_NAME");
  private final String behavior;
  private final Membership membership;
  private long step;

  private ComingRank(String[] args, Membership membership) {
    this.folder = Path.of(args[0]);
    this.behavior = behavior(args);
    this.membership = membership;
  }

  private static String behavior(String[] args) {
    String found = "";
    for (int i = 1; i < args.length; i++) {
      String[] parts = args[i].split("=", 2);
      if (System.getenv("TORCHFEED_PROCESS_NAME").matches(parts[0])) {
        found = parts[1];
      }
    }
    return found;
  }

  public static void main(String[] args) throws Exception {
    switch (behavior(args)) {
      case "fail" -> {
        System.err.println("the reason of " + System.getenv("TORCHFEED_PROCESS_NAME"));
        System.exit(GUILTY);
      }
      case "throw" -> {
        ErrorFile.recordUncaught();
        throw new IllegalStateException("the exception of " + System.getenv("RANK"));
      }
      case "nothing" -> System.exit(0);
      case "hang" -> Thread.sleep(600_000);
      case "variables" -> {
        System.getenv().keySet().stream()
            .filter(name -> name.matches("TORCH.*|MASTER.*|.*RANK|.*WORLD.*"))
            .forEach(System.err::println);
        System.exit(GUILTY);
      }
      default -> {
        try (Membership membership = Membership.fromEnvironment()) {
          if (behavior(args).startsWith("leave on termination")) {
            membership.leaveOnTermination();
          } else if (behavior(args).equals("leave on USR1 and HUP")) {
            membership.leaveOnTermination("USR1", "HUP");
          }
          new ComingRank(args, membership).run();
        } catch (MembershipEndedException e) {
          if (e.reason() != MembershipEndedException.Reason.LEFT) {
            throw e;
          }
          System.out.println("left");
        }
      }
    }
  }

  private void run() throws IOException, InterruptedException {
    String reason = "";
    while (true) {
      Optional<World> next = membership.next(reason);
      if (next.isEmpty()) {
        return;
      }
      World world = next.get();
      if (world.rank() == 0) {
        membership.announce("127.0.0.1", 4000);
      }
      step = world.step().orElse(step);
      note(world.generation() + "-" + name);
      System.out.printf("rank %d pid %d%n", world.rank(), ProcessHandle.current().pid());
      try {
        if (train()) {
          membership.finish();
          System.out.printf("rank %d completed%n", world.rank());
          after();
          return;
        }
        reason = membership.broken().orElse("");
      } catch (WorldChangedException e) {
        reason = "the generation has changed";
      }
    }
  }

  /** Returns whether the training is complete; else the generation has changed. */
  private boolean train() throws InterruptedException {
    if (behavior.equals("leave")) {
      membership.requestLeave();
    }
    while (!Files.exists(folder.resolve(COMPLETE))) {
      Thread.sleep(STEP_MILLIS);
      step++;
      if (membership.commit(step)) {
        if (behavior.endsWith("slowly")) {
          Thread.sleep(600_000);
        }
        return false;
      }
    }
    return true;
  }

  private void after() throws IOException, InterruptedException {
    switch (behavior) {
      case "stop at the end" -> stop();
      case "fail at the end" -> {
        System.err.println("the reason of " + name);
        System.exit(GUILTY);
      }
      default -> {}
    }
  }

  private static void stop() throws IOException, InterruptedException {
    long self = ProcessHandle.current().pid();
    new ProcessBuilder("sh", "-c", "kill -STOP " + self).start().waitFor();
  }

  /** Writes a file as a whole. */
  private void note(String file) throws IOException {
    Path partial = folder.resolve(file + ".partial");
    Files.writeString(partial, Long.toString(ProcessHandle.current().pid()));
    Files.move(partial, folder.resolve(file), StandardCopyOption.ATOMIC_MOVE);
  }
}
