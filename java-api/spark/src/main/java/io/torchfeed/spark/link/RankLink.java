// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.link;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.SecretHandshake;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The connection of a rank to the driver. Thread-safe. */
public final class RankLink implements AutoCloseable {
  private static final int CONNECT_MILLIS = 10_000;

  private final DriverAddress driver;
  private final Socket socket;
  private final DataInputStream in;
  private final DataOutputStream out;

  private RankLink(DriverAddress driver, Socket socket) throws IOException {
    this.driver = driver;
    this.socket = socket;
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
    out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
  }

  /**
   * Connects.
   *
   * @param executor the executor's address; the driver warns about ranks that share one
   * @throws SparkRanksException if the driver cannot be reached
   */
  @SuppressWarnings("AddressSelection") // Spark's name of the driver, as its own connections use it
  public static RankLink connect(DriverAddress driver, int rank, int attempt, String executor) {
    Socket socket = new Socket();
    try {
      socket.connect(new InetSocketAddress(driver.host(), driver.port()), CONNECT_MILLIS);
      socket.setTcpNoDelay(true);
      RankLink link = new RankLink(driver, socket);
      socket.setSoTimeout(CONNECT_MILLIS);
      @Nullable String distrust = SecretHandshake.connect(driver.secret(), link.in, link.out);
      if (distrust != null) {
        throw new IOException("another program listens there: " + distrust);
      }
      socket.setSoTimeout(0);
      link.out.writeInt(rank);
      link.out.writeInt(attempt);
      link.out.writeUTF(executor);
      link.out.flush();
      return link;
    } catch (IOException e) {
      SparkRanksException failure = lost(driver, e);
      try {
        socket.close();
      } catch (IOException onClose) {
        failure.addSuppressed(onClose);
      }
      throw failure;
    }
  }

  /** Sends the digest of the rows; returns the driver's objection, or an empty text. */
  public synchronized String rows(long rows, String digest) {
    try {
      out.writeByte(LinkMessage.ROWS.code());
      out.writeLong(rows);
      out.writeUTF(digest);
      out.flush();
      return in.readUTF();
    } catch (IOException e) {
      throw lost(driver, e);
    }
  }

  /**
   * Sends figures.
   *
   * @throws IllegalArgumentException if the name of one takes 2^16 bytes or more
   */
  public void progress(long epoch, Map<String, Double> metrics) {
    ByteArrayOutputStream message = new ByteArrayOutputStream(); // as a whole, or not at all
    try (DataOutputStream into = new DataOutputStream(message)) {
      into.writeByte(LinkMessage.PROGRESS.code());
      into.writeLong(epoch);
      into.writeInt(metrics.size());
      for (Map.Entry<String, Double> metric : metrics.entrySet()) {
        into.writeUTF(metric.getKey());
        into.writeDouble(metric.getValue());
      }
    } catch (IOException e) {
      throw new IllegalArgumentException("the name of a metric is too long", e);
    }
    synchronized (this) {
      try {
        message.writeTo(out);
        out.flush();
      } catch (IOException e) {
        throw lost(driver, e);
      }
    }
  }

  /** Sends a serialized failure, and waits until the driver knows it. */
  public synchronized void failure(byte[] serialized) {
    try {
      out.writeByte(LinkMessage.FAILURE.code());
      out.writeInt(serialized.length);
      out.write(serialized);
      out.flush();
      String answer = in.readUTF();
      if (!answer.equals(LinkMessage.FINE)) {
        throw new IllegalStateException("the driver refused a failure: " + answer);
      }
    } catch (IOException e) {
      throw lost(driver, e);
    }
  }

  private static SparkRanksException lost(DriverAddress driver, IOException e) {
    return new SparkRanksException(
        Problem.DRIVER_UNREACHABLE,
        ("the driver cannot be reached at %s: %s; open this port to the executors,"
                + " or choose one by driverPort")
            .formatted(driver, Failures.reason(e)),
        e);
  }

  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException e) {
      throw lost(driver, e);
    }
  }
}
