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
 * An HTTP server of one object, on the loopback. All its connections together send at the rate of a
 * line, and each answer begins after a round trip.
 */
final class LineServer implements AutoCloseable {
  private static final int PIECE = 1 << 16;
  private static final long BURST_NANOS = 2_000_000;
  private static final Pattern RANGE = Pattern.compile("(?i)range: bytes=(\\d+)-(\\d+)");

  private final ServerSocket listener;
  private final byte[] content;
  private final double nanosPerByte;
  private final long tripNanos;
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();
  private final AtomicInteger requests = new AtomicInteger();

  /** The time at which the line has sent all bytes given to it. */
  private long free = System.nanoTime();

  /**
   * Starts a server.
   *
   * @param content the object
   * @param bytesPerSecond the rate of the line
   * @param tripMillis the time between a request and the first byte of its answer
   */
  LineServer(byte[] content, double bytesPerSecond, long tripMillis) throws IOException {
    this.content = content;
    nanosPerByte = 1e9 / bytesPerSecond;
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
      await(count);
      out.write(content, at, count);
    }
  }

  /** Waits until the line is free for some bytes. */
  private void await(int bytes) {
    long until;
    synchronized (this) {
      free = Math.max(free, System.nanoTime() - BURST_NANOS) + (long) (bytes * nanosPerByte);
      until = free;
    }
    for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket socket : sockets) {
      socket.close();
    }
  }
}
