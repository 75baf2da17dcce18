// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

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

/** Ranks that are threads of one process. */
public final class RankThreads {
  private RankThreads() {}

  @FunctionalInterface
  public interface GroupBody<G> {
    void run(G group) throws Exception;
  }

  @FunctionalInterface
  public interface Body extends GroupBody<ProcessGroup> {}

  @FunctionalInterface
  public interface Join<G> {
    G as(int rank) throws Exception;
  }

  /** Joins each rank in a thread of its own, runs the body and closes; throws the first failure. */
  public static <G extends AutoCloseable> void run(int ranks, Join<G> join, GroupBody<G> body)
      throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < ranks; i++) {
        int rank = i;
        all.add(
            threads.submit(
                () -> {
                  try (G group = join.as(rank)) {
                    body.run(group);
                  }
                  return null;
                }));
      }
      for (Future<?> each : all) {
        each.get();
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Error error) {
        throw error;
      }
      throw (Exception) e.getCause();
    } finally {
      threads.shutdownNow();
    }
  }

  public static void run(int ranks, Body body) throws Exception {
    run(ranks, Duration.ofSeconds(60), body);
  }

  public static void run(int ranks, Duration timeout, Body body) throws Exception {
    Master master = Master.listen("127.0.0.1");
    run(
        ranks,
        rank ->
            ProcessGroup.join(
                rank == 0 ? master : Master.at("127.0.0.1", master.port()),
                new Part(ranks, rank),
                GroupOptions.ofTimeout(timeout)),
        body);
  }
}
