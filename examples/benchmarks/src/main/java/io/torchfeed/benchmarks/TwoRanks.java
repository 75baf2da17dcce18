// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Two ranks in threads of this process, which send over the loopback. */
final class TwoRanks {
  static final int RANKS = 2;

  private static final String HOST = "127.0.0.1";

  private TwoRanks() {}

  /** The work of a rank. */
  interface Work {
    void run(int rank) throws InterruptedException;
  }

  /** The work of a rank in a group. */
  interface GroupWork {
    void run(ProcessGroup group);
  }

  /** Runs the work in a thread of each rank. */
  static void run(Work work) throws InterruptedException {
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < RANKS; i++) {
        int rank = i;
        all.add(
            threads.submit(
                () -> {
                  work.run(rank);
                  return null;
                }));
      }
      for (Future<?> each : all) {
        each.get();
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException("a rank failed", e);
    } finally {
      threads.shutdownNow();
    }
  }

  /** Runs the work in a group of both ranks. */
  static void inGroup(GroupWork work) throws InterruptedException {
    Master master = Master.listen(HOST);
    run(
        rank -> {
          Master own = rank == 0 ? master : Master.at(HOST, master.port());
          GroupOptions options = GroupOptions.ofTimeout(Duration.ofMinutes(2));
          try (ProcessGroup group = ProcessGroup.join(own, Part.rank(rank).of(RANKS), options)) {
            work.run(group);
          }
        });
  }
}
