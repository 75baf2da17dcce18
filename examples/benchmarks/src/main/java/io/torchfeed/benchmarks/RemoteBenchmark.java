// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.CachedFiles;
import io.torchfeed.storage.HttpSource;
import io.torchfeed.storage.ReadAhead;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * The rates at which an object is read from a server whose line has 1 Gbit/s, in turns, and the
 * time until its first bytes have come.
 */
final class RemoteBenchmark {
  private static final double LINE = 125e6;
  private static final int BUFFER = 1 << 20;
  private static final int FIRST_BYTES = 1 << 16;

  /** The ways to read an object. */
  private enum Way {
    /** One request of all bytes, by a bare socket: the limit of the line. */
    SOCKET,
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
      delete(folder);
    }
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  private void run(int rounds, long tripMillis) throws IOException {
    try (LineServer server = new LineServer(content, LINE, tripMillis)) {
      first(server, rounds, tripMillis);
      Map<Way, double[]> rates = new EnumMap<>(Way.class);
      for (Way way : Way.values()) {
        rates.put(way, new double[rounds]);
        read(server, way, 0); // warm
      }
      for (int round = 0; round < rounds; round++) {
        for (Map.Entry<Way, double[]> each : rates.entrySet()) {
          each.getValue()[round] = rate(server, each.getKey(), round + 1);
        }
      }
      rates.forEach((way, all) -> print(way, all));
    }
  }

  /** Prints the round trips until the first bytes of a source whose size is asked for before. */
  private static void first(LineServer server, int rounds, long tripMillis) throws IOException {
    double[] trips = new double[rounds];
    int requests = server.requests();
    for (int round = 0; round < rounds; round++) {
      long start = System.nanoTime();
      try (ByteSource source = ReadAhead.of(HttpSource.of(server.uri()))) {
        if (source.size() > 0) {
          source.readFully(0, ByteBuffer.allocate(FIRST_BYTES));
        }
      }
      trips[round] = (System.nanoTime() - start) / 1e6 / tripMillis;
    }
    Arrays.sort(trips);
    System.out.printf(
        Locale.ROOT,
        "size and first %d bytes: %.2f round trips of %d ms (%.2f to %.2f), %.1f requests%n",
        FIRST_BYTES,
        trips[rounds / 2],
        tripMillis,
        trips[0],
        trips[rounds - 1],
        (server.requests() - requests) / (double) rounds);
  }

  private double rate(LineServer server, Way way, int round) throws IOException {
    long start = System.nanoTime();
    read(server, way, round);
    return content.length / ((System.nanoTime() - start) / 1e9);
  }

  private void read(LineServer server, Way way, int round) throws IOException {
    CRC32C read = new CRC32C();
    switch (way) {
      case SOCKET -> readSocket(server, read);
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
        Path cache = folder.resolve("round-" + round); // an empty one
        try (CachedFiles files = CachedFiles.of(cache, 1L << 40)) {
          if (Files.size(files.path(HttpSource.of(server.uri()))) != content.length) {
            throw new IllegalStateException("a file is too short");
          }
        }
        delete(cache);
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
    try (Socket socket = new Socket(server.uri().getHost(), server.uri().getPort())) {
      String request = "GET /object HTTP/1.1\r\nRange: bytes=0-%d\r\n\r\n";
      socket.getOutputStream().write(request.formatted(content.length - 1).getBytes(ISO_8859_1));
      InputStream in = socket.getInputStream();
      StringBuilder head = new StringBuilder();
      while (head.indexOf("\r\n\r\n") < 0) {
        head.append((char) in.read());
      }
      byte[] buffer = new byte[BUFFER];
      for (long left = content.length; left > 0; ) {
        int count = in.read(buffer, 0, (int) Math.min(BUFFER, left));
        sum.update(buffer, 0, count);
        left -= count;
      }
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
