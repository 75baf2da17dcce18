// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.membership.MembershipEndedException.Reason;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A member's connection to its coordinator: one thread reads, another gives signs of life. */
final class CoordinatorLink {
  private static final int RETRY_MILLIS = 50;

  /**
   * There is only one coordinator, and no rank can do without it: it is given up later than it
   * gives up a member.
   */
  private static final int PATIENCE = 10;

  private static final int MIN_LIMIT_MILLIS = 10_000;

  private static final int LAST_READ_MILLIS = 1000;

  private final Socket socket;
  private final OutputStream out;
  private final Object writing = new Object();
  private @Nullable LongSupplier step;
  private @Nullable Thread reader;
  private volatile boolean isClosed;

  private CoordinatorLink(Socket socket) throws IOException {
    this.socket = socket;
    this.out = socket.getOutputStream();
  }

  static CoordinatorLink connect(String host, int port, Duration limit)
      throws InterruptedException {
    long start = System.nanoTime();
    while (true) {
      Socket socket = new Socket();
      try {
        socket.setTcpNoDelay(true);
        long left = limit.toMillis() - (System.nanoTime() - start) / 1_000_000;
        socket.connect(
            new InetSocketAddress(host, port),
            (int) Math.max(RETRY_MILLIS, Math.min(left, MIN_LIMIT_MILLIS)));
        socket.setSoTimeout(MIN_LIMIT_MILLIS);
        return new CoordinatorLink(socket);
      } catch (IOException e) {
        closeQuietly(socket);
        if (System.nanoTime() - start > limit.toNanos()) {
          throw new MembershipEndedException(
              Reason.COORDINATOR_LOST,
              "no coordinator at %s:%d within %d ms: %s"
                  .formatted(host, port, limit.toMillis(), e.getMessage()));
        }
        Thread.sleep(RETRY_MILLIS);
      }
    }
  }

  /** Starts to read. */
  void start(Consumer<Message> received, Consumer<String> lost, LongSupplier completed) {
    step = completed;
    reader = daemon("torchfeed-membership", () -> read(received, lost));
  }

  /** Starts to give signs of life, some of which the coordinator answers. */
  void beat(Duration interval, Duration limit) {
    try {
      socket.setSoTimeout(Math.max(MIN_LIMIT_MILLIS, PATIENCE * (int) limit.toMillis()));
    } catch (IOException e) {
      return; // closed: the reader sees it too
    }
    daemon("torchfeed-membership-beat", () -> beat(interval.toMillis()));
  }

  private static Thread daemon(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private void beat(long intervalMillis) {
    try {
      while (!isClosed) {
        send(new Message.Beat(requireNonNull(step).getAsLong()));
        Thread.sleep(intervalMillis);
      }
    } catch (IOException e) {
      // The reader notices it too, after the last messages of the coordinator: they say why.
    } catch (InterruptedException e) {
      closeQuietly(socket); // not expected; without signs of life the coordinator would expel us
    }
  }

  private void read(Consumer<Message> received, Consumer<String> lost) {
    try (DataInputStream in =
        new DataInputStream(new BufferedInputStream(socket.getInputStream()))) {
      while (true) {
        int length = in.readInt();
        if (length < 1 || length > Message.MAX_BYTES) {
          throw new IOException("it sent a message of " + length + " bytes");
        }
        byte[] frame = new byte[length];
        in.readFully(frame);
        received.accept(Message.decode(frame));
      }
    } catch (EOFException e) {
      lost.accept("its process has ended, or closed the connection");
    } catch (SocketTimeoutException e) {
      lost.accept("no sign of life");
    } catch (IOException e) {
      lost.accept(isClosed ? "the connection was closed" : String.valueOf(e.getMessage()));
    } catch (RuntimeException | Error e) { // of an action of the user
      lost.accept("the connection's thread failed: " + e);
    } finally {
      isClosed = true;
      closeQuietly(socket);
    }
  }

  void send(Message message) throws IOException {
    byte[] frame = message.encode();
    synchronized (writing) {
      out.write(frame);
    }
  }

  /** Returns this machine's address, as the coordinator sees it. */
  String localHost() {
    return socket.getLocalAddress().getHostAddress();
  }

  /**
   * Ends the connection. The reader continues until the coordinator has ended it too, for at most a
   * second once it reads again: to close a socket with unread bytes would take back the last
   * messages.
   */
  void close() {
    isClosed = true;
    try {
      socket.setSoTimeout(LAST_READ_MILLIS);
      socket.shutdownOutput();
    } catch (IOException e) {
      closeQuietly(socket);
    }
    if (reader == null) {
      closeQuietly(socket);
    }
  }

  private static void closeQuietly(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // nothing is left to be lost
    }
  }
}
