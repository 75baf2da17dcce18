// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.http.HttpHeaders;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow.Subscription;
import org.jspecify.annotations.Nullable;

/**
 * The answer to one request. Its body goes into a buffer of the reader, by threads of the client,
 * until the reader stops it: no byte is written after {@link #stop}.
 */
final class RangeTransfer implements BodyHandler<Void>, BodySubscriber<Void> {
  private static final int MAX_TEXT = 1 << 13;

  /** Decides from the head of an answer of the wanted status whether its bytes are wanted. */
  interface Gate {
    /** Returns the most bytes that may come, at most as many as the buffer has room for. */
    long length(HttpHeaders headers) throws ByteSourceException;
  }

  private final int wanted;
  private final Gate gate;
  private final ByteBuffer into;
  private final byte[] text = new byte[MAX_TEXT];
  private final CompletableFuture<Void> done = new CompletableFuture<>();

  // guarded by this
  private boolean isStopped;
  private @Nullable ResponseInfo head;
  private @Nullable ByteSourceException refusal;
  private @Nullable Subscription body;
  private long expected;
  private int count;
  private int textBytes;
  private boolean hasExcess;
  private long steps;

  /**
   * Creates a transfer.
   *
   * @param wanted the status of an answer with bytes
   * @param into filled from its position on, which stays
   */
  RangeTransfer(int wanted, Gate gate, ByteBuffer into) {
    this.wanted = wanted;
    this.gate = gate;
    this.into = into.duplicate();
  }

  @Override
  public synchronized BodySubscriber<Void> apply(ResponseInfo info) {
    steps++;
    head = info;
    if (info.statusCode() == wanted) {
      try {
        expected = gate.length(info.headers());
      } catch (ByteSourceException e) {
        refusal = e;
      }
    }
    return this;
  }

  @Override
  public CompletionStage<Void> getBody() {
    return done;
  }

  @Override
  public synchronized void onSubscribe(Subscription subscription) {
    body = subscription;
    // all of an object is not wanted: the connection is closed
    boolean isWanted = refusal == null && head != null && head.statusCode() / 100 != 2;
    if (isWanted || expected > 0) {
      subscription.request(Long.MAX_VALUE);
    } else {
      end(subscription);
    }
  }

  private void end(Subscription subscription) {
    subscription.cancel();
    done.complete(null);
  }

  @Override
  public synchronized void onNext(List<ByteBuffer> buffers) {
    steps++;
    for (ByteBuffer each : buffers) {
      if (isStopped) {
        return;
      } else if (expected == 0) {
        keepText(each);
      } else if (each.remaining() > expected - count) {
        hasExcess = true;
      } else {
        count += each.remaining();
        into.put(each);
      }
    }
    if (body != null && (hasExcess || textBytes == MAX_TEXT)) {
      end(body);
    }
  }

  private void keepText(ByteBuffer from) {
    int kept = Math.min(from.remaining(), MAX_TEXT - textBytes);
    from.get(text, textBytes, kept);
    textBytes += kept;
  }

  @Override
  public void onError(Throwable thrown) {
    done.completeExceptionally(thrown);
  }

  @Override
  public void onComplete() {
    done.complete(null);
  }

  /** Returns a number that grows with everything that arrives. */
  synchronized long steps() {
    return steps;
  }

  /** Ends writing; returns the number of bytes in the buffer, which are the right ones. */
  synchronized int stop() {
    isStopped = true;
    return count;
  }

  /** Returns why the bytes were not wanted; null if they were. */
  synchronized @Nullable ByteSourceException refusal() {
    return refusal;
  }

  /** Returns the status of a complete answer. */
  synchronized int status() {
    return known().statusCode();
  }

  /** Returns the headers of a complete answer. */
  synchronized HttpHeaders headers() {
    return known().headers();
  }

  private ResponseInfo known() {
    if (head == null) {
      throw new IllegalStateException("an answer without a failure has a head");
    }
    return head;
  }

  /** Returns whether more bytes came than the head of the answer told. */
  synchronized boolean hasExcess() {
    return hasExcess;
  }

  /** Returns the beginning of the body of an error. */
  synchronized String text() {
    return new String(text, 0, textBytes, UTF_8);
  }
}
