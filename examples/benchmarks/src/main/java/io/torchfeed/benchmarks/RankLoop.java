// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;

/** A thread that serves many {@link SimulatedRank}s. */
final class RankLoop implements AutoCloseable {
  private static final long TICK_MILLIS = 5;

  /** The time to the first sign of life, if the greeting has been answered by then. */
  private static final long RETRY_NANOS = 20_000_000;

  private record Member(SocketChannel channel, SimulatedRank rank, String job) {}

  /** A rank and the time of its next sign of life. */
  private record Due(Member member, long nanos) {}

  private final Selector selector;
  private final Thread thread;
  private final Consumer<Throwable> failed;
  private final Queue<Member> added = new ConcurrentLinkedQueue<>();
  private final Deque<Due> beats = new ArrayDeque<>();
  private final ByteBuffer received = ByteBuffer.allocateDirect(1 << 16);
  private volatile boolean isFinishing;
  private volatile boolean isClosed;

  private RankLoop(String name, Consumer<Throwable> failed) throws IOException {
    this.selector = Selector.open();
    this.failed = failed;
    this.thread = new Thread(this::run, name);
  }

  /**
   * Starts a thread.
   *
   * @param failed takes the failure that ends it too early
   */
  static RankLoop start(String name, Consumer<Throwable> failed) throws IOException {
    RankLoop loop = new RankLoop(name, failed);
    loop.thread.setDaemon(true);
    loop.thread.start();
    return loop;
  }

  /** Connects a rank, which this thread serves from then on. */
  SimulatedRank add(
      InetSocketAddress coordinator, String name, String job, SimulatedRank.Observer observer)
      throws IOException {
    SocketChannel channel = SocketChannel.open(coordinator);
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    channel.configureBlocking(false);
    SimulatedRank rank = new SimulatedRank(channel, name, observer);
    added.add(new Member(channel, rank, job));
    selector.wakeup();
    return rank;
  }

  /** Lets all ranks say that the training is complete. */
  void finish() {
    isFinishing = true;
    selector.wakeup();
  }

  private void run() {
    try {
      while (!isClosed) {
        takeAdded();
        selector.select(this::serve, TICK_MILLIS);
        beat(System.nanoTime());
        if (isFinishing) {
          isFinishing = false;
          for (SelectionKey each : selector.keys()) {
            if (each.isValid()) {
              ((SimulatedRank) each.attachment()).finish();
            }
          }
        }
      }
    } catch (IOException | RuntimeException | Error e) {
      failed.accept(e);
    } finally {
      end();
    }
  }

  private void takeAdded() throws IOException {
    for (Member member = added.poll(); member != null; member = added.poll()) {
      member.channel().register(selector, SelectionKey.OP_READ, member.rank());
      member.rank().greet(member.job());
      beats.addLast(new Due(member, System.nanoTime() + RETRY_NANOS));
    }
  }

  private void serve(SelectionKey key) {
    SimulatedRank rank = (SimulatedRank) key.attachment();
    SocketChannel channel = (SocketChannel) key.channel();
    try {
      if (key.isValid() && key.isReadable()) {
        if (channel.read(received.clear()) < 0) {
          throw new EOFException("the coordinator has ended the connection");
        }
        rank.receive(received.flip());
      }
    } catch (IOException e) {
      key.cancel();
      if (channel.isOpen()) { // else this rank was lost as planned
        rank.close();
        failed.accept(e);
      }
    }
  }

  private void beat(long now) throws IOException {
    for (Due due = beats.peek(); due != null && due.nanos() <= now; due = beats.peek()) {
      beats.remove();
      Member member = due.member();
      try {
        long interval = member.rank().beat(now);
        beats.addLast(new Due(member, now + (interval == 0 ? RETRY_NANOS : interval)));
      } catch (IOException e) {
        if (member.channel().isOpen()) { // else this rank was lost as planned
          throw e;
        }
      }
    }
  }

  private void end() {
    try {
      for (SelectionKey key : selector.keys()) {
        key.channel().close();
      }
      selector.close();
    } catch (IOException e) {
      failed.accept(e);
    }
  }

  @Override
  public void close() {
    isClosed = true;
    selector.wakeup();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
