// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;

/** Ranks as threads that compare their plans, with an all-gather over a barrier. */
final class GatheringRanks {
  private final int size;
  private final CyclicBarrier barrier;
  private final long[][] sent;
  private int exchanges;

  GatheringRanks(int size) {
    this.size = size;
    this.barrier = new CyclicBarrier(size);
    this.sent = new long[size][];
  }

  /** Compares plans before an epoch; returns the message of each rank. */
  List<String> check(List<Sampler> plans, long epoch, int batchSize) {
    return run(
        (rank, gather) -> RankConsistency.beforeEpoch(plans.get(rank), epoch, batchSize, gather));
  }

  /** Returns the message of each rank's IllegalStateException, empty if there was none. */
  List<String> run(BiConsumer<Integer, RankConsistency.AllGather> body) {
    return IntStream.range(0, size).mapToObj(rank -> start(rank, body)).toList().stream()
        .map(GatheringRanks::await)
        .toList();
  }

  private CompletableFuture<String> start(
      int rank, BiConsumer<Integer, RankConsistency.AllGather> body) {
    var message = new CompletableFuture<String>();
    new Thread(
            () -> {
              try {
                body.accept(rank, mine -> gather(rank, mine));
                message.complete("");
              } catch (IllegalStateException e) {
                message.complete(String.valueOf(e.getMessage()));
              } catch (RuntimeException | Error e) {
                message.completeExceptionally(e);
              }
            })
        .start();
    return message;
  }

  private long[][] gather(int rank, long[] mine) {
    try {
      sent[rank] = mine;
      if (rank == 0) {
        exchanges++;
      }
      barrier.await(20, TimeUnit.SECONDS);
      long[][] all = sent.clone();
      barrier.await(20, TimeUnit.SECONDS);
      return all;
    } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
      throw new AssertionError(e);
    }
  }

  /** Returns the number of exchanges so far. */
  int exchanges() {
    return exchanges;
  }

  private static String await(CompletableFuture<String> message) {
    return message.orTimeout(30, TimeUnit.SECONDS).join();
  }
}
