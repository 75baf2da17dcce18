// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.CachedFiles;
import io.torchfeed.storage.HttpSource;
import io.torchfeed.storage.ReadAhead;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;

/**
 * The rates at which an object is read from a server whose line has 1 Gbit/s, in turns, and the
 * time until its first bytes have come.
 */
final class RemoteBenchmark {
  private static final double LINE = 125e6;
  private static final int BUFFER = 1 << 20;
  private static final int FIRST_BYTES = 1 << 16;
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** The ways to read an object. */
  private enum Way {
    /** One request of all bytes, by a bare socket: the limit of the line. */
    SOCKET,
    /** One request of all bytes, by the JDK's client. */
    JDK_CLIENT,
    READ_AHEAD,
    /** Each read a request of its own. */
    HTTP_SOURCE,
    /** Into a file, flushed to the disk. */
    CACHED_FILES
  }

  private final byte[] content;
  private final long sum;
  private final Path folder;

  private RemoteBenchmark(byte[] content, Path folder) {
    this.content = content;
    this.folder = folder;
    CRC32C all = new CRC32C();
    all.update(content);
    sum = all.getValue();
  }

  /**
   * Runs the benchmark.
   *
   * @param args rounds, megabytes of the object, and milliseconds of a round trip
   */
  public static void main(String[] args) throws IOException {
    byte[] content = new byte[Integer.parseInt(args[1]) * 1_000_000];
    new Random(1).nextBytes(content);
    Path folder = Files.createTempDirectory("remote");
    try {
      new RemoteBenchmark(content, folder).run(Integer.parseInt(args[0]), Long.parseLong(args[2]));
    } finally {
      TemporaryFolder.delete(folder);
    }
  }

  private void run(int rounds, long tripMillis) throws IOException {
    try (LineServer server = new LineServer(content, new LineServer.Line(LINE), tripMillis)) {
      first(server, rounds, tripMillis);
      Map<Way, double[]> rates = new EnumMap<>(Way.class);
      for (Way way : Way.values()) {
        rates.put(way, new double[rounds]);
        rate(server, way, 0); // warm
      }
      for (int round = 0; round < rounds; round++) {
        for (Map.Entry<Way, double[]> each : rates.entrySet()) {
          each.getValue()[round] = rate(server, each.getKey(), round + 1);
        }
      }
      rates.forEach((way, all) -> print(way, all));
    }
  }

  /** Something that is done with a server. */
  private interface Use {
    void run(LineServer server) throws IOException;
  }

  /**
   * Prints the round trips until the first bytes, by the benchmark and by a bare socket. The client
   * is loaded, and its connection open.
   */
  private static void first(LineServer server, int rounds, long tripMillis) throws IOException {
    Use bySource =
        all -> {
          try (ByteSource source = ReadAhead.of(HttpSource.of(all.uri()))) {
            if (source.size() > 0) {
              source.readFully(0, ByteBuffer.allocate(FIRST_BYTES));
            }
          }
        };
    try (Socket socket = connect(server)) {
      Use bySocket =
          all -> {
            request(socket, 0, 1);
            socket.getInputStream().readNBytes(1);
            request(socket, 0, FIRST_BYTES);
            socket.getInputStream().readNBytes(FIRST_BYTES);
          };
      double[] bare = new double[rounds];
      double[] trips = new double[rounds];
      for (int round = -1; round < rounds; round++) {
        double one = trips(bySocket, server, tripMillis);
        double other = trips(bySource, server, tripMillis);
        if (round >= 0) {
          bare[round] = one;
          trips[round] = other;
        }
      }
      int requests = server.requests();
      bySource.run(server);
      System.out.printf(
          "size and first %d bytes, %d requests, in round trips of %d ms: %s, a bare socket %s%n",
          FIRST_BYTES, server.requests() - requests, tripMillis, middle(trips), middle(bare));
    }
  }

  private static double trips(Use use, LineServer server, long tripMillis) throws IOException {
    long start = System.nanoTime();
    use.run(server);
    return (System.nanoTime() - start) / 1e6 / tripMillis;
  }

  private static String middle(double[] values) {
    Arrays.sort(values);
    return String.format(
        Locale.ROOT,
        "%.2f (%.2f to %.2f)",
        values[values.length / 2],
        values[0],
        values[values.length - 1]);
  }

  private double rate(LineServer server, Way way, int round) throws IOException {
    Path cache = folder.resolve("round-" + round);
    long start = System.nanoTime();
    read(server, way, cache);
    double seconds = (System.nanoTime() - start) / 1e9;
    if (way == Way.CACHED_FILES) {
      TemporaryFolder.delete(cache);
    }
    return content.length / seconds;
  }

  private void read(LineServer server, Way way, Path cache) throws IOException {
    CRC32C read = new CRC32C();
    switch (way) {
      case SOCKET -> readSocket(server, read);
      case JDK_CLIENT -> readClient(server, read);
      case READ_AHEAD -> {
        try (ByteSource source = ReadAhead.of(HttpSource.of(server.uri()))) {
          readAll(source, read);
        }
      }
      case HTTP_SOURCE -> {
        try (ByteSource source = HttpSource.of(server.uri())) {
          readAll(source, read);
        }
      }
      case CACHED_FILES -> {
        try (CachedFiles files = CachedFiles.of(cache, 1L << 40)) {
          if (Files.size(files.path(HttpSource.of(server.uri()))) != content.length) {
            throw new IllegalStateException("a file is too short");
          }
        }
        return;
      }
    }
    if (read.getValue() != sum) {
      throw new IllegalStateException("%s has read other bytes".formatted(way));
    }
  }

  private static void readAll(ByteSource source, CRC32C sum) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
    long size = source.size();
    for (long at = 0; at < size; at += buffer.limit()) {
      buffer.clear().limit((int) Math.min(BUFFER, size - at));
      source.readFully(at, buffer);
      sum.update(buffer.flip());
    }
  }

  private void readSocket(LineServer server, CRC32C sum) throws IOException {
    try (Socket socket = connect(server)) {
      request(socket, 0, content.length);
      readAll(socket.getInputStream(), sum);
    }
  }

  private static Socket connect(LineServer server) throws IOException {
    return new Socket(server.uri().getHost(), server.uri().getPort());
  }

  /** Sends a request, and reads the head of its answer. */
  private static void request(Socket socket, int from, int to) throws IOException {
    String request = "GET /object HTTP/1.1\r\nRange: bytes=%d-%d\r\n\r\n";
    socket.getOutputStream().write(request.formatted(from, to - 1).getBytes(ISO_8859_1));
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      head.append((char) socket.getInputStream().read());
    }
  }

  private void readAll(InputStream in, CRC32C sum) throws IOException {
    byte[] buffer = new byte[BUFFER];
    for (long left = content.length; left > 0; ) {
      int count = in.read(buffer, 0, (int) Math.min(BUFFER, left));
      sum.update(buffer, 0, count);
      left -= count;
    }
  }

  private void readClient(LineServer server, CRC32C sum) throws IOException {
    HttpRequest request =
        HttpRequest.newBuilder(server.uri())
            .header("Range", "bytes=0-" + (content.length - 1))
            .build();
    try (InputStream in = CLIENT.send(request, BodyHandlers.ofInputStream()).body()) {
      readAll(in, sum);
    } catch (InterruptedException e) {
      throw new InterruptedIOException();
    }
  }

  private static void print(Way way, double[] rates) {
    Arrays.sort(rates);
    System.out.printf(
        Locale.ROOT,
        "%-12s %6.1f MB/s, %.3f of the line (%.3f to %.3f)%n",
        way,
        rates[rates.length / 2] / 1e6,
        rates[rates.length / 2] / LINE,
        rates[0] / LINE,
        rates[rates.length - 1] / LINE);
  }
}
