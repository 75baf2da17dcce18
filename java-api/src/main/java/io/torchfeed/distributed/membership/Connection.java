// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.SecretHandshake;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A member's connection at the coordinator, which never waits. Not thread-safe. */
final class Connection {
  /** More than a member that reads has in flight. */
  private static final int MAX_QUEUED_BYTES = 1 << 20;

  final long id;
  final long since;
  private final SocketChannel channel;
  private final SelectionKey key;
  private final Deque<ByteBuffer> outgoing = new ArrayDeque<>();
  private final ByteBuffer length = ByteBuffer.allocate(Integer.BYTES);
  private final @Nullable SecretHandshake handshake;
  private @Nullable ByteBuffer frame;
  private int queuedBytes;
  private long endingSince;
  private boolean isEnding;
  boolean isMember;

  /** False until the other side has proved that it knows the secret, if there is one. */
  private boolean isTrusted;

  /**
   * Creates a connection.
   *
   * @param secret null if there is none
   */
  Connection(
      long id, SocketChannel channel, SelectionKey key, long since, @Nullable JobSecret secret) {
    this.id = id;
    this.channel = channel;
    this.key = key;
    this.since = since;
    handshake = secret == null ? null : SecretHandshake.begin(secret.bytes());
    isTrusted = secret == null;
    frame = isTrusted ? null : ByteBuffer.allocate(SecretHandshake.ANSWER_BYTES);
  }

  /** Sends the first bytes of the connection. */
  void greet() throws IOException {
    send(Message.greeting(handshake == null ? new byte[0] : handshake.challenge()));
  }

  boolean isTrusted() {
    return isTrusted;
  }

  /** Takes the proof of the other side, if all of it has arrived: no more is read without it. */
  void admit(ByteBuffer received) throws IOException {
    ByteBuffer answer = requireNonNull(frame);
    fill(answer, received);
    if (answer.hasRemaining()) {
      return;
    }
    byte[] bytes = new byte[SecretHandshake.ANSWER_BYTES];
    answer.flip().get(bytes);
    byte[] verdict = requireNonNull(handshake).verdict(bytes);
    frame = null;
    send(verdict);
    isTrusted = SecretHandshake.isAccepted(verdict);
    if (!isTrusted) {
      throw new IOException("it does not know the secret of the job, at " + address());
    }
  }

  /** Returns the address of the other side. */
  String address() {
    try {
      return String.valueOf(channel.getRemoteAddress());
    } catch (IOException e) {
      return "an unknown address"; // the connection has ended
    }
  }

  /**
   * Reads the bytes that have arrived, as far as there is room for them.
   *
   * @param received is cleared first
   */
  void read(ByteBuffer received) throws IOException {
    if (channel.read(received.clear()) < 0) {
      throw new EOFException("its process has ended, or closed the connection");
    }
    received.flip();
  }

  /** Returns the next message of the bytes read, or nothing if it has not arrived whole. */
  Optional<Message> next(ByteBuffer received) throws IOException {
    if (frame == null) {
      fill(length, received);
      if (length.hasRemaining()) {
        return Optional.empty();
      }
      int bytes = length.flip().getInt();
      length.clear();
      if (bytes < 1 || bytes > Message.MAX_BYTES) {
        throw new IOException("a message of " + bytes + " bytes");
      }
      frame = ByteBuffer.allocate(bytes);
    }
    fill(frame, received);
    if (frame.hasRemaining()) {
      return Optional.empty();
    }
    byte[] bytes = frame.array();
    frame = null;
    return Optional.of(Message.decode(bytes));
  }

  private static void fill(ByteBuffer to, ByteBuffer from) {
    int count = Math.min(to.remaining(), from.remaining());
    to.put(from.slice().limit(count));
    from.position(from.position() + count);
  }

  void send(Message message) throws IOException {
    send(message.encode());
  }

  private void send(byte[] message) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(message);
    queuedBytes += bytes.remaining();
    if (queuedBytes > MAX_QUEUED_BYTES) {
      throw new IOException("it reads no messages");
    }
    outgoing.add(bytes);
    write();
  }

  /** Writes as much as the system takes now; the rest when the channel is ready for it. */
  void write() throws IOException {
    while (!outgoing.isEmpty()) {
      ByteBuffer first = outgoing.getFirst();
      queuedBytes -= channel.write(first);
      if (first.hasRemaining()) {
        key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
        return;
      }
      outgoing.removeFirst();
    }
    key.interestOps(SelectionKey.OP_READ);
    if (isEnding) {
      channel.shutdownOutput();
    }
  }

  /**
   * Ends the connection on this side as soon as all has been written. It is closed when the member
   * has ended it too: to close a socket with unread bytes would take back the last messages.
   */
  void end(long nanos) throws IOException {
    isEnding = true;
    endingSince = nanos;
    write();
  }

  boolean isEnding() {
    return isEnding;
  }

  /** Returns the time since {@link #end}. */
  long endingFor(long nanos) {
    return nanos - endingSince;
  }

  /** Drops received bytes; returns false if the member has ended the connection. */
  boolean discard() throws IOException {
    ByteBuffer unread = ByteBuffer.allocate(1 << 10);
    int count = channel.read(unread);
    while (count > 0) {
      count = channel.read(unread.clear());
    }
    return count == 0;
  }

  void close() {
    key.cancel();
    try {
      channel.close();
    } catch (IOException e) {
      // nothing is left to be lost: all was written, or the peer is gone
    }
  }
}
