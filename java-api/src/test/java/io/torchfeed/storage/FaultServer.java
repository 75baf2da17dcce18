// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** A server of one object on the loopback, which can answer wrongly, late or not at all. */
public final class FaultServer implements AutoCloseable {
  /** Requests that have arrived, in this order. */
  public final List<Request> requests = new CopyOnWriteArrayList<>();

  /** Answers to the next requests; after them, the object is served. */
  public final Deque<Reply> faults = new ConcurrentLinkedDeque<>();

  /** Headers of each right answer, such as ETag. */
  public final Map<String, String> headers = new TreeMap<>();

  /** False to ignore the conditions of requests. */
  public volatile boolean honoursConditions = true;

  /** Objects at other paths than the one of {@link #content}. */
  public final Map<String, byte[]> others = new ConcurrentHashMap<>();

  public volatile byte[] content;

  private final ServerSocket listener;
  private final Thread acceptor;
  private final CountDownLatch closed = new CountDownLatch(1);
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();

  /**
   * A request.
   *
   * @param target path and query
   * @param headers by name in lower case
   */
  public record Request(String method, String target, Map<String, String> headers) {
    /** Returns a header; null if it was not sent. */
    public @Nullable String header(String name) {
      return headers.get(name.toLowerCase(Locale.ROOT));
    }
  }

  /** An answer. */
  @FunctionalInterface
  public interface Reply {
    void answer(Request request, Connection connection) throws IOException;
  }

  public FaultServer(byte[] content) throws IOException {
    this.content = content.clone();
    listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    acceptor = start(this::accept);
  }

  private static Thread start(Runnable task) {
    Thread thread = new Thread(task, "fault-server");
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  public URI uri(String target) {
    return URI.create("http://127.0.0.1:" + listener.getLocalPort() + target);
  }

  private void accept() {
    try {
      while (true) {
        Socket socket = listener.accept();
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
      for (Request request = read(in); request != null; request = read(in)) {
        requests.add(request);
        Reply fault = faults.poll();
        Connection connection = new Connection(socket, socket.getOutputStream(), closed);
        if (fault == null) {
          serve(request, connection);
        } else {
          fault.answer(request, connection);
        }
        connection.out().flush();
      }
    } catch (IOException e) {
      return; // the reader has left, or the connection was reset
    }
  }

  private static @Nullable Request read(InputStream in) throws IOException {
    String line = line(in);
    if (line.isEmpty()) {
      return null;
    }
    List<String> words = List.of(line.split(" ", 3));
    Map<String, String> headers = new TreeMap<>();
    for (String each = line(in); !each.isEmpty(); each = line(in)) {
      int colon = each.indexOf(": ");
      if (colon < 0) {
        throw new IOException("no HTTP");
      }
      headers.put(each.substring(0, colon).toLowerCase(Locale.ROOT), each.substring(colon + 2));
    }
    return new Request(words.get(0), words.get(1), headers);
  }

  private static String line(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = in.read(); c >= 0 && c != '\n'; c = in.read()) {
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }

  /** Answers as a server without faults. */
  public void serve(Request request, Connection connection) throws IOException {
    byte[] now = others.getOrDefault(request.target(), content);
    String tag = headers.get("ETag");
    String match = request.header("If-Match");
    String unmodified = request.header("If-Unmodified-Since");
    boolean isRefused =
        (match != null && !match.equals(tag))
            || (unmodified != null && !unmodified.equals(headers.get("Last-Modified")));
    if (honoursConditions && isRefused) {
      connection.head(412, Map.of("Content-Length", "0"));
      return;
    }
    if (request.header("Range") == null) {
      Map<String, String> whole = new TreeMap<>(headers);
      whole.put("Content-Length", String.valueOf(now.length));
      connection.head(200, whole);
      connection.out().write(now);
      return;
    }
    long[] range = range(request, now.length);
    if (range[0] >= now.length) {
      connection.head(416, Map.of("Content-Length", "0", "Content-Range", "bytes */" + now.length));
      return;
    }
    Map<String, String> all = new TreeMap<>(headers);
    int count = (int) (range[1] - range[0] + 1);
    all.put("Content-Length", String.valueOf(count));
    all.put("Content-Range", "bytes %d-%d/%d".formatted(range[0], range[1], now.length));
    connection.head(206, all);
    connection.out().write(now, (int) range[0], count);
  }

  /** Returns the first and the last byte that a request asks for, within the object. */
  public static long[] range(Request request, int size) {
    String[] numbers = String.valueOf(request.header("Range")).substring(6).split("-", 2);
    return new long[] {Long.parseLong(numbers[0]), Math.min(Long.parseLong(numbers[1]), size - 1)};
  }

  /** The connection on which a request came. */
  public record Connection(Socket socket, OutputStream out, CountDownLatch closed) {
    public void head(int status, Map<String, String> headers) throws IOException {
      StringBuilder head = new StringBuilder("HTTP/1.1 " + status + " Any\r\n");
      headers.forEach((name, value) -> head.append(name + ": " + value + "\r\n"));
      out.write(head.append("\r\n").toString().getBytes(ISO_8859_1));
    }

    public void text(int status, Map<String, String> headers, String body) throws IOException {
      Map<String, String> all = new TreeMap<>(headers);
      all.put("Content-Length", String.valueOf(body.length()));
      head(status, all);
      out.write(body.getBytes(ISO_8859_1));
    }

    /** Says nothing more until the server is closed. */
    public void stall() throws IOException {
      out.flush();
      try {
        closed.await();
      } catch (InterruptedException e) {
        throw new IOException("interrupted", e);
      }
    }

    /** Ends the connection; a reset if it is hard. */
    public void end(boolean isHard) throws IOException {
      out.flush();
      if (isHard) {
        socket.setSoLinger(true, 0);
      }
      socket.close();
    }
  }

  /** Returns an answer of a status with an empty body. */
  public static Reply status(int status, Map<String, String> headers) {
    return (request, connection) -> connection.text(status, headers, "");
  }

  /**
   * Closes this server and keeps its port, where connections are refused then: the port could go to
   * a server of another test otherwise.
   */
  public Socket closeButKeepPort() throws IOException {
    int port = listener.getLocalPort();
    close();
    Socket holder = new Socket();
    holder.setReuseAddress(true); // connections that have ended still use the port
    holder.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    return holder;
  }

  @Override
  public void close() throws IOException {
    closed.countDown();
    listener.close();
    try {
      acceptor.join(); // until then, the port accepts connections
    } catch (InterruptedException e) {
      throw new IOException("interrupted", e);
    }
    for (Socket socket : sockets) {
      socket.close();
    }
  }
}
