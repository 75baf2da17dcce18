// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An HTTP server of one object, on the loopback. All connections of a line together send at its
 * rate, and each answer begins after a round trip.
 */
final class LineServer implements AutoCloseable {
  private static final int PIECE = 1 << 16;
  private static final long BURST_NANOS = 2_000_000;
  private static final Pattern RANGE = Pattern.compile("(?i)range: bytes=(\\d+)-(\\d+)");

  private final ServerSocket listener;
  private final byte[] content;
  private final Line line;
  private final long tripNanos;
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();
  private final AtomicInteger requests = new AtomicInteger();

  /**
   * Starts a server.
   *
   * @param content the object
   * @param line which other servers may share
   * @param tripMillis the time between a request and the first byte of its answer
   */
  LineServer(byte[] content, Line line, long tripMillis) throws IOException {
    this.content = content;
    this.line = line;
    tripNanos = tripMillis * 1_000_000;
    listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    start(this::accept);
  }

  private static void start(Runnable task) {
    Thread thread = new Thread(task, "line-server");
    thread.setDaemon(true);
    thread.start();
  }

  URI uri() {
    return URI.create("http://127.0.0.1:%d/object".formatted(listener.getLocalPort()));
  }

  int requests() {
    return requests.get();
  }

  private void accept() {
    try {
      while (true) {
        Socket socket = listener.accept();
        socket.setTcpNoDelay(true);
        sockets.add(socket);
        start(() -> serve(socket));
      }
    } catch (IOException e) {
      return; // closed
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      InputStream in = new BufferedInputStream(socket.getInputStream());
      OutputStream out = socket.getOutputStream();
      for (String head = head(in); !head.isEmpty(); head = head(in)) {
        requests.incrementAndGet();
        Matcher range = RANGE.matcher(head);
        if (!range.find()) {
          throw new IOException("a request without a range");
        }
        int from = Integer.parseInt(range.group(1));
        int to = (int) Math.min(Long.parseLong(range.group(2)), content.length - 1) + 1;
        LockSupport.parkNanos(tripNanos);
        send(out, from, to);
      }
    } catch (IOException e) {
      return; // the reader has left
    }
  }

  private static String head(InputStream in) throws IOException {
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int next = in.read();
      if (next < 0) {
        return "";
      }
      head.append((char) next);
    }
    return head.toString();
  }

  private void send(OutputStream out, int from, int to) throws IOException {
    String head =
        "HTTP/1.1 206 Partial\r\nETag: \"1\"\r\nContent-Length: %d\r\nContent-Range: bytes %d-%d/%d\r\n\r\n"
            .formatted(to - from, from, to - 1, content.length);
    out.write(head.getBytes(ISO_8859_1));
    for (int at = from; at < to; at += PIECE) {
      int count = Math.min(PIECE, to - at);
      line.await(count);
      out.write(content, at, count);
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket socket : sockets) {
      socket.close();
    }
  }

  /** A line with a rate. */
  static final class Line {
    private final double nanosPerByte;

    /** The time at which it has sent all bytes given to it. */
    private long free = System.nanoTime();

    Line(double bytesPerSecond) {
      nanosPerByte = 1e9 / bytesPerSecond;
    }

    /** Waits until the line is free for some bytes. */
    void await(int bytes) {
      long until;
      synchronized (this) {
        free = Math.max(free, System.nanoTime() - BURST_NANOS) + (long) (bytes * nanosPerByte);
        until = free;
      }
      for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
    }
  }
}
