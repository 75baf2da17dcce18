// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import io.torchfeed.examples.mnist.faults.RankLog.End;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The end of a job: the ends of its processes, and the search for remains. */
final class JobEnd {
  /** The exit status of a process that SIGKILL has ended. */
  private static final int KILLED = 128 + 9;

  private JobEnd() {}

  /**
   * Waits for the end of the training.
   *
   * @param asked the end of each process that is to end before the training does
   * @return a sentence for each process that has ended wrongly
   */
  static List<String> await(Job job, Map<RankHandle, End> asked) throws InterruptedException {
    long state = -1;
    long since = System.nanoTime();
    List<RankHandle> alive = alive(job);
    while (!alive.isEmpty()) {
      long now = job.step() - alive.size();
      if (now != state) {
        state = now;
        since = System.nanoTime();
      } else if (System.nanoTime() - since > TimeUnit.SECONDS.toNanos(Job.LIMIT_SECONDS)) {
        return alive.stream().map(each -> each.name() + " does not end").toList();
      }
      TimeUnit.MILLISECONDS.sleep(200);
      alive = alive(job);
    }
    List<String> wrong = new ArrayList<>();
    if (job.noted(Long.MIN_VALUE, each -> each.kind() == Kind.FINISHED).isEmpty()) {
      wrong.add("the coordinator has not seen the end of the training");
    }
    for (RankHandle each : job.ranks()) {
      wrong.addAll(ends(each, asked.get(each)));
    }
    return wrong;
  }

  private static List<RankHandle> alive(Job job) {
    return job.ranks().stream().filter(RankHandle::isAlive).toList();
  }

  private static List<String> ends(RankHandle rank, @Nullable End expected)
      throws InterruptedException {
    int status = rank.await(Job.LIMIT_SECONDS);
    if (rank.wrongLine() != null) {
      return List.of(rank.name() + " has logged: " + rank.wrongLine());
    }
    if (rank.isKilled()) {
      return status == KILLED
          ? List.of()
          : List.of(rank.name() + " was to be killed and has ended with status " + status);
    }
    List<RankLog.Ended> ends = rank.log().all(RankLog.Ended.class);
    End end = ends.isEmpty() ? End.FAILED : ends.get(0).end();
    Set<End> allowed =
        expected == null
            ? EnumSet.of(End.COMPLETED, End.UNUSED, End.NOT_NEEDED)
            : EnumSet.of(expected);
    if (!allowed.contains(end) || status != statusOf(end)) {
      return List.of(
          "%s has ended with status %d and %s, expected %s"
              .formatted(rank.name(), status, ends, allowed));
    }
    return List.of();
  }

  private static int statusOf(End end) {
    return switch (end) {
      case EXPELLED -> FaultRank.EXPELLED;
      case THREW -> FaultRank.THREW;
      default -> 0;
    };
  }

  /** Returns the processes and the port that a closed job still holds. */
  static List<String> leftBehind(int port) {
    List<String> wrong = new ArrayList<>();
    ProcessHandle.current()
        .descendants()
        .forEach(each -> wrong.add("process " + each.pid() + " is left"));
    try (ServerSocket socket = new ServerSocket()) {
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    } catch (IOException e) {
      wrong.add("the coordinator's port " + port + " is not free: " + e.getMessage());
    }
    return wrong;
  }
}
