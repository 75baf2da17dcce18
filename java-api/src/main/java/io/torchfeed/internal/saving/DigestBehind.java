// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.saving;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The digest of bytes in memory, which a second thread makes while the next ones are read; few
 * bytes need none. One thread at a time adds bytes.
 */
public final class DigestBehind implements AutoCloseable {
  private static final long FEW = 4L << 20;

  private final MessageDigest digest;

  /** The next pieces; one without bytes is the end. */
  private final BlockingQueue<ByteBuffer> pieces = new LinkedBlockingQueue<>();

  private long bytes;
  private @Nullable Aside<Boolean> aside;

  /**
   * Starts a digest.
   *
   * @param digest of nothing yet; not to be used by others until {@link #await}
   */
  public DigestBehind(MessageDigest digest) {
    this.digest = digest;
  }

  /**
   * Returns a stream whose bytes are added when they are read, not when they are skipped, to be
   * read before {@link #add} is called.
   *
   * @param stream borrowed
   */
  public InputStream adding(InputStream stream) {
    return new DigestInputStream(stream, digest);
  }

  /**
   * Adds bytes.
   *
   * @param piece whose memory neither changes nor is freed until {@link #await} or {@link #close}
   *     returns
   */
  public void add(ByteBuffer piece) {
    bytes += piece.remaining();
    if (aside == null && bytes <= FEW) {
      digest.update(piece);
      return;
    }
    if (aside == null) {
      aside = Aside.start("torchfeed-digest", this::update);
    }
    if (piece.hasRemaining()) {
      pieces.add(piece);
    }
  }

  private Boolean update(BooleanSupplier isStopped) throws IOException {
    try {
      for (ByteBuffer piece = pieces.take(); piece.hasRemaining(); piece = pieces.take()) {
        if (isStopped.getAsBoolean()) {
          break;
        }
        digest.update(piece);
      }
      return true;
    } catch (InterruptedException e) {
      throw new InterruptedIOException("interrupted while making a digest");
    }
  }

  /**
   * Waits until all bytes are in the digest.
   *
   * @return the digest that was given
   * @throws IOException if it cannot be made
   */
  public MessageDigest await() throws IOException {
    if (aside != null) {
      pieces.add(ByteBuffer.allocate(0));
      try {
        aside.await();
      } catch (IOException e) {
        if (e.getCause() instanceof Error error) {
          throw error; // memory, and not the file
        }
        throw e;
      }
    }
    return digest;
  }

  /** Waits until no thread uses the bytes any more. */
  @Override
  public void close() {
    if (aside != null) {
      pieces.add(ByteBuffer.allocate(0));
      aside.close();
    }
  }
}
