// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Ranks that speak the protocol of a coordinator over the loopback, many in each of a few threads,
 * without libtorch. One thread calls the methods; {@code close} ends all ranks.
 */
final class SimulatedRanks implements AutoCloseable {
  private static final int THREADS = 2;
  private static final long LIMIT_NANOS = 300_000_000_000L;

  private final InetSocketAddress coordinator;
  private final String job;
  private final List<SimulatedRank> ranks = new ArrayList<>();
  private final List<RankLoop> loops = new ArrayList<>();
  private final AtomicLong slowestAnswer = new AtomicLong();
  private int added;

  // Guarded by this.
  private int generation;
  private int size;
  private int inside;
  private int ended;
  private @Nullable Throwable failure;

  SimulatedRanks(int port, String job) throws IOException {
    this.coordinator = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    this.job = job;
    for (int i = 0; i < THREADS; i++) {
      loops.add(RankLoop.start("simulated-ranks-" + i, this::failed));
    }
  }

  /**
   * Measures the phases of a job: {@code PORT JOB RANKS LOST SECONDS}. All ranks come, train for
   * some seconds, a number of them is lost at once, one comes, and all complete the training. After
   * each phase it prints its name and seconds, and waits for a line.
   */
  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[2]);
    int lost = Integer.parseInt(args[3]);
    try (SimulatedRanks ranks = new SimulatedRanks(Integer.parseInt(args[0]), args[1])) {
      long start = System.nanoTime();
      ranks.add(count);
      ranks.awaitGeneration(count);
      said("joined", start);
      start = System.nanoTime();
      ranks.slowestAnswer.set(0);
      Thread.sleep(Long.parseLong(args[4]) * 1000);
      System.out.println(ranks.slowestAnswer.get() / 1_000_000);
      said("trained", start);
      start = System.nanoTime();
      ranks.lose(lost);
      ranks.awaitGeneration(count - lost);
      said("formed", start);
      start = System.nanoTime();
      ranks.add(1);
      ranks.awaitGeneration(count - lost + 1);
      said("grown", start);
      start = System.nanoTime();
      ranks.finish();
      said("ended", start);
    }
  }

  private static void said(String phase, long start) throws IOException {
    System.out.println(phase + " " + (System.nanoTime() - start) / 1e9);
    if (System.in.read() < 0) {
      throw new IOException("the coordinator's process has ended");
    }
  }

  /** Starts ranks. */
  void add(int count) throws IOException {
    for (int i = 0; i < count; i++) {
      RankLoop loop = loops.get(added % loops.size());
      ranks.add(loop.add(coordinator, "r" + added, job, new Observer()));
      added++;
    }
  }

  /** Ends the connections of ranks, spread over all of them. */
  void lose(int count) {
    List<SimulatedRank> lost =
        IntStream.range(0, count).mapToObj(i -> ranks.get(i * (ranks.size() / count))).toList();
    lost.forEach(SimulatedRank::close);
    ranks.removeAll(lost);
  }

  /** Says that the training is complete, and waits until all ranks know it. */
  void finish() throws InterruptedException, TimeoutException {
    loops.forEach(RankLoop::finish);
    synchronized (this) {
      await(() -> ended == ranks.size(), "all ranks know of the end");
    }
  }

  /** Waits until all ranks of a generation of a size have entered it. */
  synchronized void awaitGeneration(int expected) throws InterruptedException, TimeoutException {
    await(() -> size == expected && inside == expected, "a generation of " + expected);
  }

  private interface Condition {
    boolean holds();
  }

  private void await(Condition condition, String what)
      throws InterruptedException, TimeoutException {
    long start = System.nanoTime();
    while (!condition.holds()) {
      if (failure != null) {
        throw new IllegalStateException("a rank failed", failure);
      }
      if (System.nanoTime() - start > LIMIT_NANOS) {
        throw new TimeoutException(
            "waited for %s; generation %d of %d has %d".formatted(what, generation, size, inside));
      }
      wait(100);
    }
  }

  private synchronized void failed(Throwable thrown) {
    failure = thrown;
    notifyAll();
  }

  private final class Observer implements SimulatedRank.Observer {
    @Override
    public void entered(int newest, int newSize) {
      synchronized (SimulatedRanks.this) {
        if (newest > generation) {
          generation = newest;
          size = newSize;
          inside = 0;
        }
        inside += newest == generation ? 1 : 0;
        if (inside == size) {
          SimulatedRanks.this.notifyAll();
        }
      }
    }

    @Override
    public void answered(long nanos) {
      slowestAnswer.accumulateAndGet(nanos, Math::max);
    }

    @Override
    public void ended() {
      synchronized (SimulatedRanks.this) {
        ended++;
        SimulatedRanks.this.notifyAll();
      }
    }
  }

  @Override
  public void close() {
    loops.forEach(RankLoop::close);
  }
}
