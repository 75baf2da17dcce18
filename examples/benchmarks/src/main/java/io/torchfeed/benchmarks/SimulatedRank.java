// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * A rank that speaks the protocol of a coordinator and trains nothing. Its thread calls it; {@link
 * #close} may be called from any.
 */
final class SimulatedRank implements AutoCloseable {
  /** Takes the news of a rank. */
  interface Observer {
    /** The rank is in a generation, and knows where its rank 0 listens. */
    void entered(int generation, int size);

    /** The coordinator has answered a sign of life after this time. */
    void answered(long nanos);

    /** The training is complete. */
    void ended();
  }

  private static final long GREETING = 0x746f726368666432L;
  private static final int GREETING_BYTES = Long.BYTES + 1;
  private static final long NO_STEP = -1;

  private final SocketChannel channel;
  private final String name;
  private final Observer observer;
  private final ByteBuffer length = ByteBuffer.allocate(Integer.BYTES);
  private final ByteBuffer greeting = ByteBuffer.allocate(GREETING_BYTES);
  private @Nullable ByteBuffer frame;
  private long step = NO_STEP;
  private int generation;
  private int size;
  private boolean isWelcome;
  private long beatNanos;
  private long beatSent;

  SimulatedRank(SocketChannel channel, String name, Observer observer) {
    this.channel = channel;
    this.name = name;
    this.observer = observer;
  }

  private interface Content {
    void write(DataOutputStream out) throws IOException;
  }

  private void send(int kind, Content content) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeInt(0);
    out.writeByte(kind);
    content.write(out);
    ByteBuffer message = ByteBuffer.wrap(bytes.toByteArray());
    message.putInt(0, message.remaining() - Integer.BYTES);
    channel.write(message);
    if (message.hasRemaining()) {
      throw new IOException("the coordinator reads no messages of " + name);
    }
  }

  /** Greets the coordinator of a job. */
  void greet(String job) throws IOException {
    send(
        1,
        out -> {
          out.writeLong(GREETING);
          out.writeUTF(job);
          out.writeUTF(name);
        });
  }

  /** Gives a sign of life if the coordinator has said how often; returns that interval, or 0. */
  long beat(long now) throws IOException {
    if (!isWelcome) {
      return 0;
    }
    beatSent = now;
    send(2, out -> out.writeLong(step));
    return beatNanos;
  }

  /** Says that the training is complete. */
  void finish() throws IOException {
    send(8, out -> out.writeLong(step));
  }

  private void ready(String reason) throws IOException {
    send(
        3,
        out -> {
          out.writeLong(step);
          out.writeUTF(reason);
        });
  }

  /** Takes bytes of the coordinator. */
  void receive(ByteBuffer bytes) throws IOException {
    if (greeting.hasRemaining()) {
      fill(greeting, bytes);
      if (!greeting.hasRemaining() && (greeting.getLong(0) != GREETING || greeting.get(8) != 0)) {
        throw new IOException("it must be a coordinator of this version, without a secret");
      }
    }
    while (bytes.hasRemaining()) {
      if (frame == null) {
        fill(length, bytes);
        if (length.hasRemaining()) {
          return;
        }
        frame = ByteBuffer.allocate(length.flip().getInt());
        length.clear();
      }
      fill(frame, bytes);
      if (frame.hasRemaining()) {
        return;
      }
      ByteBuffer message = frame.flip();
      frame = null;
      take(message);
    }
  }

  private static void fill(ByteBuffer to, ByteBuffer from) {
    int count = Math.min(to.remaining(), from.remaining());
    to.put(from.slice().limit(count));
    from.position(from.position() + count);
  }

  private void take(ByteBuffer message) throws IOException {
    int kind = message.get();
    switch (kind) {
      case 2 -> observer.answered(System.nanoTime() - beatSent);
      case 33 -> {
        message.getLong(); // its id
        beatNanos = message.getInt() * 1_000_000L;
        isWelcome = true;
        ready("");
      }
      case 34 -> formed(message);
      case 35 -> entered();
      case 36 -> ready("a rank is lost");
      case 37 ->
          send(
              5,
              out -> {
                out.writeInt(generation);
                out.writeLong(step);
              });
      case 38 -> {
        message.getInt(); // its generation
        step = message.getLong();
        ready("");
      }
      case 39 -> observer.ended();
      case 42 -> beat(System.nanoTime());
      default -> throw new IOException("unknown kind " + kind + " of message");
    }
  }

  private void formed(ByteBuffer message) throws IOException {
    generation = message.getInt();
    int rank = message.getInt();
    size = message.getInt();
    if (rank == 0) {
      send(
          4,
          out -> {
            out.writeInt(generation);
            out.writeUTF("127.0.0.1");
            out.writeInt(1);
          });
      entered();
    }
  }

  private void entered() {
    step = Math.max(step, 1); // it holds a state from now on
    observer.entered(generation, size);
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
