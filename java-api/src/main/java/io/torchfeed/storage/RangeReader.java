// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import io.torchfeed.internal.Failures;
import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.storage.Retries.PassingException;
import java.io.IOException;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Reads ranges of one object behind HTTP. The first answer decides on its version, which all others
 * must have. Thread-safe.
 */
final class RangeReader {
  private final String name;
  private final HttpPlace place;
  private final HttpOptions options;
  private final AtomicReference<@Nullable ObjectVersion> version = new AtomicReference<>();

  RangeReader(String name, HttpPlace place, HttpOptions options) {
    this.name = name;
    this.place = place;
    this.options = options;
  }

  ObjectVersion version() throws ByteSourceException {
    ObjectVersion known = version.get();
    if (known == null) {
      read(0, ByteBuffer.allocate(1));
      known = version.get();
    }
    if (known == null) {
      throw new IllegalStateException("an answer that was read has a version");
    }
    return known;
  }

  /** Reads at least one byte, or returns -1 at the end. */
  int read(long offset, ByteBuffer into) throws ByteSourceException {
    Retries retries = new Retries(options.retryLimit());
    HttpPlace.Route route = place.route();
    while (true) {
      ObjectVersion known = version.get();
      if (known != null && offset >= known.size()) {
        return -1;
      }
      try {
        int count = attempt(route, offset, into, known);
        if (count != 0) {
          return count;
        }
      } catch (PassingException e) {
        route.restart();
        @Nullable String end = pause(retries, e, offset);
        if (end != null) {
          throw failure(Problem.UNAVAILABLE, offset, e.getMessage() + end, e);
        }
      }
    }
  }

  private @Nullable String pause(Retries retries, PassingException e, long offset)
      throws ByteSourceException {
    try {
      return retries.pause(e);
    } catch (InterruptedException interrupt) {
      throw interrupted(offset, interrupt);
    }
  }

  private ByteSourceException interrupted(long offset, InterruptedException e) {
    Thread.currentThread().interrupt();
    return failure(Problem.INTERRUPTED, offset, "the thread was interrupted", e);
  }

  private ByteSourceException failure(
      Problem problem, long offset, String reason, @Nullable Throwable cause) {
    return new ByteSourceException(name, problem, offset, reason, cause);
  }

  /** Sends one request; returns the number of bytes read, -1 at the end, or 0 to ask again. */
  private int attempt(
      HttpPlace.Route route, long offset, ByteBuffer into, @Nullable ObjectVersion known)
      throws ByteSourceException, PassingException {
    long last = offset + into.remaining() - 1;
    RangeTransfer transfer = new RangeTransfer(headers -> lengthOf(offset, last, headers), into);
    CompletableFuture<?> answer =
        options.client().sendAsync(request(route, offset, last, known), transfer);
    @Nullable PassingException broken = null;
    try {
      await(answer, transfer);
    } catch (PassingException e) {
      broken = e;
    } catch (InterruptedException e) {
      transfer.stop();
      answer.cancel(true);
      throw interrupted(offset, e);
    }
    int count = transfer.stop();
    answer.cancel(true); // no effect on a complete one
    ByteSourceException refusal = transfer.refusal();
    if (refusal != null) {
      throw refusal;
    } else if (transfer.hasExcess()) {
      String rule = "the server sent more bytes than its Content-Range has";
      throw failure(Problem.WRONG_ANSWER, offset, rule, null);
    } else if (count > 0) {
      into.position(into.position() + count);
      route.keep();
      return count;
    } else if (broken != null) {
      throw broken;
    }
    return withoutBytes(transfer, route, offset);
  }

  private HttpRequest request(
      HttpPlace.Route route, long offset, long last, @Nullable ObjectVersion known)
      throws ByteSourceException {
    HttpRequest.Builder request = HttpRequest.newBuilder(route.now());
    try {
      route.headers().forEach(request::header);
    } catch (IOException e) {
      throw failure(Problem.DENIED, offset, Failures.reason(e), e);
    }
    Map<String, String> condition = known == null ? Map.of() : known.condition();
    condition.forEach(request::header);
    return request
        .header("Range", "bytes=%d-%d".formatted(offset, last))
        .header("Accept-Encoding", "identity")
        .build();
  }

  private void await(CompletableFuture<?> answer, RangeTransfer transfer)
      throws PassingException, InterruptedException {
    Duration limit = options.stallTimeout();
    long seen = 0;
    while (true) {
      try {
        answer.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        return;
      } catch (TimeoutException e) {
        long steps = transfer.steps();
        if (steps == seen) {
          String reason = "the server sent nothing for %s".formatted(limit);
          throw new PassingException(reason, Duration.ZERO, e);
        }
        seen = steps;
      } catch (ExecutionException e) {
        Throwable cause = e.getCause() == null ? e : e.getCause();
        String reason = "the connection failed: " + Failures.reason(cause);
        throw new PassingException(reason, Duration.ZERO, cause);
      }
    }
  }

  /** Checks the head of an answer with bytes; returns their number. */
  private long lengthOf(long offset, long last, HttpHeaders headers) throws ByteSourceException {
    ContentRange range = ContentRange.of(headers);
    if (range == null || !range.answers(offset, last)) {
      throw failure(
          Problem.WRONG_ANSWER,
          offset,
          "the server must answer with the bytes %d to %d and the size, got Content-Range: %s"
              .formatted(offset, last, headers.firstValue("Content-Range").orElse("none")),
          null);
    }
    requireSame(offset, ObjectVersion.of(range.size(), headers));
    return range.length();
  }

  private void requireSame(long offset, ObjectVersion now) throws ByteSourceException {
    ObjectVersion first = version.compareAndExchange(null, now);
    String change = first == null ? null : first.changeTo(now);
    if (change != null) {
      throw changed(offset, change);
    }
  }

  private ByteSourceException changed(long offset, String how) {
    String reason =
        "the object has changed since its first bytes were read (%s); open it again".formatted(how);
    return failure(Problem.CHANGED, offset, reason, null);
  }

  /** Handles an answer that has not brought bytes of the object. */
  private int withoutBytes(RangeTransfer transfer, HttpPlace.Route route, long offset)
      throws ByteSourceException, PassingException {
    ResponseInfo head = transfer.head();
    if (head == null) {
      throw new PassingException("the connection ended", Duration.ZERO, null);
    }
    int status = head.statusCode();
    HttpHeaders headers = head.headers();
    if (status == 206) {
      throw new PassingException("the answer ended before its first byte", Duration.ZERO, null);
    } else if (status == 200 && headers.firstValueAsLong("Content-Length").orElse(-1) == 0) {
      return empty(offset, headers);
    } else if (status == 416) {
      return afterEnd(offset, headers);
    } else if (HttpPlace.isRedirect(status)) {
      @Nullable String refused = route.redirect(headers.firstValue("Location"), status);
      if (refused != null) {
        throw failure(Problem.WRONG_ANSWER, offset, refused, null);
      }
      return 0;
    }
    HttpStatus.requirePassing(status, headers, transfer.text());
    if (route.restart()) {
      return 0; // the redirect may have been for a time
    }
    throw failure(
        HttpStatus.problemOf(status), offset, HttpStatus.reason(status, transfer.text()), null);
  }

  private int empty(long offset, HttpHeaders headers) throws ByteSourceException {
    requireSame(offset, ObjectVersion.of(0, headers));
    return -1;
  }

  /** Handles the answer that an offset is after the end; it need not have the version. */
  private int afterEnd(long offset, HttpHeaders headers) throws ByteSourceException {
    if (version.get() != null) { // which has this byte
      throw changed(offset, "it has no byte %d any more".formatted(offset));
    }
    long size = ContentRange.sizeOf(headers).orElse(offset == 0 ? 0 : version().size());
    if (size == 0) {
      return empty(offset, headers);
    } else if (offset < size) {
      String reason = "the server does not serve byte %d of %d".formatted(offset, size);
      throw failure(Problem.WRONG_ANSWER, offset, reason, null);
    }
    return -1;
  }
}
