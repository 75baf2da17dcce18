// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import io.torchfeed.internal.Failures;
import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.storage.Retries.PassingException;
import java.io.IOException;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests for one name: within limits, again after failures that may pass, and to the place
 * of a redirect. Thread-safe.
 */
final class HttpCaller {
  private final String name;
  private final HttpPlace place;
  private final HttpOptions options;

  HttpCaller(String name, HttpPlace place, HttpOptions options) {
    this.name = name;
    this.place = place;
    this.options = options;
  }

  /** One try. */
  interface Attempt {
    /** Sends a request and returns its result, or 0 to send another at once. */
    int send(HttpPlace.Route route) throws ByteSourceException, PassingException;
  }

  /**
   * Repeats tries until one has a result.
   *
   * @param offset of the read, for messages
   */
  int call(long offset, Attempt attempt) throws ByteSourceException {
    Retries retries = new Retries(options.retryLimit());
    HttpPlace.Route route = place.route();
    while (true) {
      try {
        int result = attempt.send(route);
        if (result != 0) {
          return result;
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
      return retries.pause(e, place.isKnown());
    } catch (InterruptedException interrupt) {
      throw interrupted(offset, interrupt);
    }
  }

  private ByteSourceException interrupted(long offset, InterruptedException e) {
    Thread.currentThread().interrupt();
    return failure(Problem.INTERRUPTED, offset, "the thread was interrupted", e);
  }

  ByteSourceException failure(
      Problem problem, long offset, String reason, @Nullable Throwable cause) {
    return new ByteSourceException(name, problem, offset, reason, cause);
  }

  /**
   * Sends a request and waits until its answer has ended or failed. The transfer writes no more
   * then.
   *
   * @param more headers that are no secrets
   * @return the failure of the connection; null if the answer is complete
   */
  @Nullable PassingException send(
      HttpPlace.Route route, long offset, Map<String, String> more, RangeTransfer transfer)
      throws ByteSourceException {
    HttpRequest.Builder request = HttpRequest.newBuilder(route.now());
    try {
      route.headers().forEach(request::header);
    } catch (ByteSourceException e) {
      throw e;
    } catch (IOException e) {
      throw failure(Problem.DENIED, offset, Failures.reason(e), e);
    }
    more.forEach(request::header);
    request.header("Accept-Encoding", "identity");
    CompletableFuture<?> answer = options.client().sendAsync(request.build(), transfer);
    try {
      await(answer, transfer, route);
      return null;
    } catch (PassingException e) {
      return e;
    } catch (InterruptedException e) {
      throw interrupted(offset, e);
    } finally {
      transfer.stop();
      answer.cancel(true); // no effect on a complete one
    }
  }

  private void await(CompletableFuture<?> answer, RangeTransfer transfer, HttpPlace.Route route)
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
        throw BrokenConnection.of(route.now(), e.getCause() == null ? e : e.getCause());
      }
    }
  }

  /** Handles an answer that has none of the bytes; returns if another request may help. */
  void withoutBytes(RangeTransfer transfer, HttpPlace.Route route, long offset)
      throws ByteSourceException, PassingException {
    int status = transfer.status();
    HttpHeaders headers = transfer.headers();
    @Nullable String region = headers.firstValue("x-amz-bucket-region").orElse(null);
    if (region != null && (status == 301 || status == 307 || status == 400)) {
      String reason =
          "the server answered %d: the bucket is in the region %s; use withRegion"
              .formatted(status, region);
      throw failure(Problem.WRONG_ANSWER, offset, reason, null);
    } else if (HttpPlace.isRedirect(status)) {
      @Nullable String refused = route.redirect(headers.firstValue("Location"), status);
      if (refused != null) {
        throw failure(Problem.WRONG_ANSWER, offset, refused, null);
      }
      return;
    }
    HttpStatus.requirePassing(status, headers, transfer.text());
    if (route.restart()) {
      return; // the redirect may have been for a time
    }
    throw failure(
        HttpStatus.problemOf(status, transfer.text()),
        offset,
        HttpStatus.reason(status, transfer.text()),
        null);
  }
}
