// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.link;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.SecretHandshake;
import io.torchfeed.spark.RankProgress;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The driver's end of the connections to the ranks of one job: it remembers the digests of their
 * rows from attempt to attempt, passes on progress, and takes failures.
 */
public final class DriverLink implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger("io.torchfeed.spark");
  private static final int SECRET_BYTES = 32;
  private static final int SECRET_MILLIS = 10_000;

  /** The receiver of messages; called by several threads. */
  public interface Listener {
    void progress(RankProgress progress);

    void failure(int rank, byte[] serialized);
  }

  /** The rows of a rank in the first attempt. */
  private record Rows(long count, String digest) {}

  private final ServerSocket server;
  private final DriverAddress address;
  private final Listener listener;
  private final Map<Integer, Rows> rows = new HashMap<>();
  private final Map<Integer, Map<String, Integer>> executors = new HashMap<>();
  private final Set<Socket> sockets = new HashSet<>();
  private final Set<Thread> threads = new HashSet<>();
  private boolean isWarned;
  private boolean isClosed;

  private DriverLink(ServerSocket server, DriverAddress address, Listener listener) {
    this.server = server;
    this.address = address;
    this.listener = listener;
  }

  /**
   * Listens at the address of Spark's driver.
   *
   * @param port 0 for any
   */
  @SuppressWarnings("AddressSelection") // Spark's own name of this machine
  public static DriverLink listen(SparkConf conf, int port, Listener listener) {
    String host = conf.get("spark.driver.host");
    String bound = conf.get("spark.driver.bindAddress", host);
    try {
      ServerSocket server = new ServerSocket();
      try {
        server.bind(new InetSocketAddress(InetAddress.getByName(bound), port));
      } catch (IOException e) {
        server.close();
        throw e;
      }
      byte[] secret = SecretHandshake.random(SECRET_BYTES);
      DriverAddress address = new DriverAddress(host, server.getLocalPort(), secret);
      DriverLink link = new DriverLink(server, address, listener);
      link.start("torchfeed-spark-driver", link::accept);
      return link;
    } catch (IOException e) {
      throw new UncheckedIOException(
          "the driver cannot listen for ranks at %s:%d".formatted(bound, port), e);
    }
  }

  public DriverAddress address() {
    return address;
  }

  private synchronized void start(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    threads.add(thread);
    thread.start();
  }

  private void accept() {
    while (true) {
      Socket socket;
      try {
        socket = server.accept();
      } catch (IOException e) {
        if (!hasClosed()) {
          LOG.warn("the driver accepts no more ranks", e);
        }
        return;
      }
      if (!add(socket)) {
        return;
      }
    }
  }

  private synchronized boolean add(Socket socket) {
    if (isClosed) {
      closeQuietly(socket);
      return false;
    }
    sockets.add(socket);
    start("torchfeed-spark-rank", () -> serve(socket));
    return true;
  }

  private synchronized boolean hasClosed() {
    return isClosed;
  }

  private void serve(Socket socket) {
    try (socket;
        DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        DataOutputStream out =
            new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()))) {
      socket.setTcpNoDelay(true);
      socket.setSoTimeout(SECRET_MILLIS);
      if (!SecretHandshake.listen(address.secret(), in, out)) {
        LOG.warn("{} is no rank of this job", socket.getRemoteSocketAddress());
        return;
      }
      int rank = in.readInt();
      int attempt = in.readInt();
      warnIfShared(attempt, in.readUTF());
      socket.setSoTimeout(0);
      for (int kind = in.read(); kind >= 0; kind = in.read()) {
        take(LinkMessage.of(kind), rank, attempt, in, out);
      }
    } catch (IOException | RuntimeException e) {
      if (!hasClosed()) {
        LOG.info("the connection of a rank has ended", e); // Spark sees the end of its task
      }
    } finally {
      forget(socket);
    }
  }

  private synchronized void forget(Socket socket) {
    sockets.remove(socket);
    threads.remove(Thread.currentThread());
  }

  private void take(
      LinkMessage kind, int rank, int attempt, DataInputStream in, DataOutputStream out)
      throws IOException {
    switch (kind) {
      case ROWS -> {
        out.writeUTF(objection(rank, new Rows(in.readLong(), in.readUTF())));
        out.flush();
      }
      case PROGRESS -> {
        long epoch = in.readLong();
        Map<String, Double> metrics = new HashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
          metrics.put(in.readUTF(), in.readDouble());
        }
        listener.progress(new RankProgress(rank, attempt, epoch, metrics));
      }
      case FAILURE -> {
        int length = in.readInt();
        if (length < 0 || length > LinkMessage.MAX_BYTES) {
          throw new IOException("a failure has %d bytes".formatted(length));
        }
        byte[] serialized = in.readNBytes(length);
        if (serialized.length == length) {
          listener.failure(rank, serialized);
          out.writeUTF(LinkMessage.FINE);
          out.flush();
        }
      }
    }
  }

  private synchronized String objection(int rank, Rows now) {
    Rows before = rows.putIfAbsent(rank, now);
    if (before == null || before.equals(now)) {
      return LinkMessage.FINE;
    }
    return ("rank %d must have the rows that it had before the stage was repeated,"
            + " %d with digest %s, got %d with %s")
        .formatted(rank, before.count, before.digest, now.count, now.digest);
  }

  private synchronized void warnIfShared(int attempt, String executor) {
    Map<String, Integer> ranks = executors.computeIfAbsent(attempt, none -> new HashMap<>());
    if (ranks.merge(executor, 1, Integer::sum) > 1 && !isWarned) {
      isWarned = true;
      LOG.warn(
          "the executor {} has several ranks, which share its threads and libtorch's generator of"
              + " random numbers; give each executor as many cores as a task has, for one rank",
          executor);
    }
  }

  private static void closeQuietly(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      LOG.debug("a socket that was not used cannot be closed", e);
    }
  }

  /** Ends all connections and waits for their threads. */
  @Override
  public void close() {
    Set<Thread> left;
    synchronized (this) {
      isClosed = true;
      sockets.forEach(DriverLink::closeQuietly);
      left = new HashSet<>(threads);
    }
    try {
      server.close();
      for (Thread thread : left) {
        if (!requireNonNull(thread).equals(Thread.currentThread())) {
          thread.join();
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("the driver's port cannot be closed", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
