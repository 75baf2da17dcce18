// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Failures;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** Ranks that are threads of this process: for tests, small data, and trying out a program. */
public final class LocalRanks {
  /** Far below the limits of systems, since a JVM that gets no more threads can end. */
  private static final int MAX_RANKS = 1024;

  private LocalRanks() {}

  /**
   * The work of a rank.
   *
   * @param <T> the type of its result
   */
  @FunctionalInterface
  public interface Work<T> {
    /**
     * Runs one rank.
     *
     * @param rank the rank, at least 0
     * @param exchange connects the ranks
     * @return the rank's result
     * @throws Exception if the rank fails
     */
    T run(int rank, AllToAll exchange) throws Exception;
  }

  /**
   * Runs all ranks, each on its own thread, and waits for them. If one fails, the exchanges of the
   * others fail too, so that no thread waits indefinitely.
   *
   * @param <T> the type of a rank's result
   * @param worldSize the number of ranks, in [1, 1024], since each takes a thread
   * @param work the work of each rank
   * @return the results in the order of the ranks
   * @throws ExchangeException if a rank fails or is interrupted, or ends while others are still
   *     exchanging; its cause is the first failure, which is itself thrown instead if it is a
   *     {@link RuntimeException}
   * @throws IllegalArgumentException if worldSize is below 1 or above 1024
   */
  public static <T> List<T> run(int worldSize, Work<T> work) {
    Checks.requireWorldSize(worldSize, MAX_RANKS);
    requireNonNull(work, "work");
    LocalExchange exchange = new LocalExchange(worldSize);
    ExecutorService threads = Executors.newFixedThreadPool(worldSize, LocalRanks::thread);
    try {
      List<Future<@Nullable T>> results = new ArrayList<>();
      for (int rank = 0; rank < worldSize; rank++) {
        int mine = rank;
        results.add(threads.submit(() -> one(mine, work, exchange)));
      }
      return results(results, exchange);
    } finally {
      threads.shutdownNow();
    }
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "torchfeed-local-rank");
    thread.setDaemon(true);
    return thread;
  }

  /** Returns the result, or null if the rank fails, since a future would wrap the exception. */
  private static <T> @Nullable T one(int rank, Work<T> work, LocalExchange exchange) {
    try {
      T result = work.run(rank, messages -> exchange.exchange(rank, messages));
      exchange.leave(rank, null);
      return result;
    } catch (Throwable e) {
      exchange.leave(rank, e);
      return null;
    }
  }

  private static <T> List<T> results(List<Future<@Nullable T>> futures, LocalExchange exchange) {
    List<T> results = new ArrayList<>();
    for (Future<@Nullable T> future : futures) {
      try {
        results.add(future.get());
      } catch (ExecutionException e) {
        throw new IllegalStateException("a rank ended without a result", e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new ExchangeException(-1, "interrupted while the ranks were running", e);
      }
    }
    exchange.requireNoFailure();
    return results;
  }

  /** An exchange of messages between threads. */
  private static final class LocalExchange {
    private final int worldSize;
    private byte[][][] sent;
    private int arrived;
    private int left;
    private long round;
    private byte[][][] received;
    private int failedRank = -1;
    private @Nullable Throwable failure;

    LocalExchange(int worldSize) {
      this.worldSize = worldSize;
      sent = new byte[worldSize][][];
      received = new byte[0][][];
    }

    synchronized byte[][] exchange(int rank, byte[][] messages) {
      String problem = Checks.problemOfMessages(messages, worldSize);
      if (problem != null) {
        throw new IllegalArgumentException(problem);
      }
      requireAll();
      if (sent[rank] != null) {
        throw new IllegalStateException(
            "rank %d is already exchanging; each rank must use the exchange passed to it"
                .formatted(rank));
      }
      sent[rank] = messages;
      arrived++;
      long mine = round;
      if (arrived == worldSize) {
        arrived = 0;
        round++;
        received = sent;
        sent = new byte[worldSize][][];
        notifyAll();
      }
      try {
        while (round == mine) {
          requireAll();
          wait();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new ExchangeException(-1, "interrupted while waiting for the other ranks", e);
      }
      byte[][] own = new byte[worldSize][];
      for (int from = 0; from < worldSize; from++) {
        own[from] = received[from][rank];
      }
      return own;
    }

    private void requireAll() {
      if (failure != null) {
        throw failed(failure);
      }
      if (left > 0) {
        throw new ExchangeException(-1, "a rank ended while others were still exchanging");
      }
    }

    synchronized void leave(int rank, @Nullable Throwable cause) {
      left++;
      // The exceptions that other ranks throw as a consequence are not the reason.
      if (cause != null && (failure == null || failure instanceof ExchangeException)) {
        failure = cause;
        failedRank = rank;
      }
      notifyAll();
    }

    synchronized void requireNoFailure() {
      if (failure instanceof RuntimeException e) {
        throw e;
      }
      if (failure != null) {
        throw failed(failure);
      }
    }

    private ExchangeException failed(Throwable cause) {
      return new ExchangeException(
          failedRank, "rank %d failed: %s".formatted(failedRank, Failures.describe(cause)), cause);
    }
  }
}
