// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import io.torchfeed.distributed.membership.MembershipEndedException.Reason;
import io.torchfeed.internal.AwakeClock;
import io.torchfeed.internal.SecretHandshake;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A member's connection to its coordinator: one thread reads, another gives signs of life. */
final class CoordinatorLink {
  static final int LAST_PORT = 65_535;

  private static final int RETRY_MILLIS = 50;

  /**
   * There is only one coordinator, and no rank can do without it: it is given up later than it
   * gives up a member.
   */
  private static final int PATIENCE = 10;

  private static final int MIN_LIMIT_MILLIS = 10_000;

  private static final int LAST_READ_MILLIS = 1000;

  /** The longest time between two looks for signs of life, also if few are to be given. */
  private static final int LOOK_MILLIS = 200;

  /**
   * The times that the coordinator has named.
   *
   * @param beatMillis the time between two signs of life; 0 for none
   */
  private record Pace(int beatMillis, int limitMillis) {}

  /** The time without a message in which this process was awake to get one. Not thread-safe. */
  static final class Silence {
    private static final long COUNTED_NANOS = 1_000_000_000;

    private final AwakeClock clock;
    private int heard;
    private long since;

    Silence(LongSupplier nanos) {
      clock = new AwakeClock(COUNTED_NANOS, nanos);
    }

    /** Looks at the number of messages so far; returns the time for which it is the same. */
    long millis(int heardNow) {
      long now = clock.now();
      since = heardNow == heard ? since : now;
      heard = heardNow;
      return (now - since) / 1_000_000;
    }
  }

  private final Socket socket;
  private final OutputStream out;
  private final Object writing = new Object();
  private final AtomicInteger heard = new AtomicInteger();
  private @Nullable Thread reader;
  private @Nullable Thread beater;
  private volatile boolean isClosed;
  private volatile boolean isSilent;
  private volatile Pace pace = new Pace(0, MIN_LIMIT_MILLIS);

  private CoordinatorLink(Socket socket) throws IOException {
    this.socket = socket;
    this.out = socket.getOutputStream();
  }

  /**
   * Connects, and proves to each other that both sides know the secret.
   *
   * @param secret null if there is none
   * @throws MembershipEndedException if the other side is not the coordinator, or does not listen
   *     within the limit
   */
  static CoordinatorLink connect(String host, int port, @Nullable JobSecret secret, Duration limit)
      throws InterruptedException {
    if (port < 1 || port > LAST_PORT) {
      throw new IllegalArgumentException(
          "port must be in [1, %d], got %d".formatted(LAST_PORT, port));
    }
    long start = System.nanoTime();
    while (true) {
      Socket socket = new Socket();
      try {
        socket.setTcpNoDelay(true);
        long left = limit.toMillis() - (System.nanoTime() - start) / 1_000_000;
        socket.connect(
            new InetSocketAddress(host, port),
            (int) Math.max(RETRY_MILLIS, Math.min(left, MIN_LIMIT_MILLIS)));
        socket.setSoTimeout((int) Math.max(LAST_READ_MILLIS, Math.min(left, MIN_LIMIT_MILLIS)));
        @Nullable String obstacle = greet(socket, secret);
        if (obstacle != null) {
          closeQuietly(socket);
          throw new MembershipEndedException(
              Reason.FAILED,
              "no membership of the job at %s:%d: %s".formatted(host, port, obstacle));
        }
        socket.setSoTimeout(0);
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

  /** Takes the greeting of the coordinator; returns an objection to it, or null. */
  private static @Nullable String greet(Socket socket, @Nullable JobSecret secret)
      throws IOException {
    DataInputStream in = new DataInputStream(socket.getInputStream()); // reads no byte too many
    if (in.readLong() != Message.GREETING) {
      return "it is no coordinator, or one of another version";
    } else if (in.readByte() == 0) {
      return secret == null ? null : "the coordinator has no secret, and this process has one";
    } else if (secret == null) {
      return "this process lacks the secret of the job; see JobSecret.fromEnvironment";
    }
    @Nullable String distrust =
        SecretHandshake.connect(secret.bytes(), in, socket.getOutputStream());
    return distrust == null ? null : "the coordinator is not trusted: " + distrust;
  }

  /** Starts to read, and to look whether there is something to read. */
  void start(Consumer<Message> received, Consumer<String> lost, LongSupplier completed) {
    Thread reading = new Thread(() -> read(received, lost), "torchfeed-membership");
    Thread beating = new Thread(() -> beat(reading, completed), "torchfeed-membership-beat");
    reader = reading;
    beater = beating;
    for (Thread each : List.of(reading, beating)) {
      each.setDaemon(true);
      each.start();
    }
  }

  /** Starts to give signs of life, some of which the coordinator answers. */
  void beat(Duration interval, Duration limit) {
    int millis = Math.max(MIN_LIMIT_MILLIS, PATIENCE * (int) limit.toMillis());
    pace = new Pace((int) interval.toMillis(), millis);
    LockSupport.unpark(beater);
  }

  /** Gives signs of life, and ends the connection if the other side gives none. */
  private void beat(Thread reading, LongSupplier completed) {
    Silence silence = new Silence(System::nanoTime);
    long next = System.nanoTime();
    while (reading.isAlive()) {
      Pace now = pace;
      if (silence.millis(heard.get()) > (isClosed ? LAST_READ_MILLIS : now.limitMillis)) {
        isSilent = true;
        closeQuietly(socket); // which ends the reader
      }
      long left = next - System.nanoTime();
      if (now.beatMillis > 0 && left <= 0 && !isClosed) {
        trySend(new Message.Beat(completed.getAsLong()));
        left = now.beatMillis * 1_000_000L;
        next = System.nanoTime() + left;
      }
      long look = LOOK_MILLIS * 1_000_000L;
      LockSupport.parkNanos(now.beatMillis > 0 ? Math.min(left, look) : look);
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
        heard.incrementAndGet();
        received.accept(Message.decode(frame));
      }
    } catch (EOFException e) {
      lost.accept("its process has ended, or closed the connection");
    } catch (IOException e) {
      String reason = isSilent ? "no sign of life" : String.valueOf(e.getMessage());
      lost.accept(isClosed ? "the connection was closed" : reason);
    } catch (RuntimeException | Error e) { // of an action of the user
      lost.accept("the connection's thread failed: " + e);
    } finally {
      isClosed = true;
      closeQuietly(socket);
      LockSupport.unpark(beater);
    }
  }

  /** Sends a message, unless the connection is lost. */
  void trySend(Message message) {
    byte[] frame = message.encode();
    try {
      synchronized (writing) {
        out.write(frame);
      }
    } catch (IOException e) {
      // The reader notices it too, after the last messages of the coordinator: they say why.
    }
  }

  /** Returns this machine's address, as the coordinator sees it. */
  String localHost() {
    return socket.getLocalAddress().getHostAddress();
  }

  /**
   * Ends the connection. The reader continues until the coordinator has ended it too, or nothing
   * has come for a second: to close a socket with unread bytes would take back the last messages.
   */
  void close() {
    heard.incrementAndGet(); // the second begins now
    isClosed = true;
    try {
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
