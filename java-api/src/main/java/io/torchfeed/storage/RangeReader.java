// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.storage.Retries.PassingException;
import java.net.http.HttpHeaders;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Reads ranges of one object behind HTTP. The first answer decides on its version, which all others
 * must have. Thread-safe.
 */
final class RangeReader {
  private static final int END = -1;

  /** The status of no answer. */
  private static final int NONE = 0;

  /** Encodings that leave the bytes as they are; the second is left by uploads to S3. */
  private static final Set<String> PLAIN = Set.of("identity", "aws-chunked");

  private final HttpCaller caller;
  private final boolean isStore;
  private final AtomicReference<@Nullable ObjectVersion> version = new AtomicReference<>();

  /**
   * Creates a reader.
   *
   * @param isStore whether bytes are served as they were stored, so that an encoding in answers is
   *     a note of the program that stored them
   */
  RangeReader(HttpCaller caller, boolean isStore) {
    this.caller = caller;
    this.isStore = isStore;
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
    return caller.call(
        offset,
        route -> {
          ObjectVersion known = version.get();
          return known != null && offset >= known.size()
              ? END
              : attempt(route, offset, into, known);
        });
  }

  private int attempt(
      HttpPlace.Route route, long offset, ByteBuffer into, @Nullable ObjectVersion known)
      throws ByteSourceException, PassingException {
    long last = offset + into.remaining() - 1;
    Map<String, String> headers = new TreeMap<>(known == null ? Map.of() : known.condition());
    headers.put("Range", "bytes=%d-%d".formatted(offset, last));
    RangeTransfer transfer = new RangeTransfer(206, answer -> lengthOf(offset, last, answer), into);
    @Nullable PassingException broken = caller.send(route, offset, headers, transfer);
    int count = transfer.stop();
    ByteSourceException refusal = transfer.refusal();
    if (refusal != null) {
      throw refusal;
    } else if (transfer.hasExcess()) {
      String rule = "the server sent more bytes than its Content-Range has";
      throw caller.failure(Problem.WRONG_ANSWER, offset, rule, null);
    } else if (count > 0) { // those before a failure are right, too
      into.position(into.position() + count);
      route.keep();
      return count;
    } else if (broken != null) {
      throw broken;
    }
    return withoutBytes(transfer, route, offset);
  }

  /** Checks the head of an answer with bytes; returns their number. */
  private long lengthOf(long offset, long last, HttpHeaders headers) throws ByteSourceException {
    requirePlain(offset, headers);
    ContentRange range = ContentRange.of(headers);
    if (range == null || !range.answers(offset, last)) {
      throw caller.failure(
          Problem.WRONG_ANSWER,
          offset,
          "the server must answer with the bytes %d to %d and the size, got Content-Range: %s"
              .formatted(offset, last, headers.firstValue("Content-Range").orElse("none")),
          null);
    }
    requireSame(offset, ObjectVersion.of(range.size(), headers));
    return range.length();
  }

  /** Throws if the bytes are encoded although the request asks for plain ones. */
  private void requirePlain(long offset, HttpHeaders headers) throws ByteSourceException {
    for (String encoding : isStore ? List.<String>of() : headers.allValues("Content-Encoding")) {
      if (!PLAIN.contains(encoding.strip().toLowerCase(Locale.ROOT))) {
        String reason =
            "the server answered with Content-Encoding: %s; it must serve the bytes as they are, "
                + "or the object be downloaded first";
        throw caller.failure(Problem.WRONG_ANSWER, offset, reason.formatted(encoding), null);
      }
    }
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
    return caller.failure(Problem.CHANGED, offset, reason, null);
  }

  /** Handles an answer that has not brought bytes of the object. */
  private int withoutBytes(RangeTransfer transfer, HttpPlace.Route route, long offset)
      throws ByteSourceException, PassingException {
    int status = transfer.status();
    HttpHeaders headers = transfer.headers();
    if (status == 206) {
      throw new PassingException("the answer ended before its first byte", Duration.ZERO, null);
    } else if (status == 200 && headers.firstValueAsLong("Content-Length").orElse(-1) == 0) {
      return empty(offset, headers);
    } else if (status == 416) {
      return afterEnd(route, offset, headers);
    }
    caller.withoutBytes(transfer, route, offset);
    return 0;
  }

  private int empty(long offset, HttpHeaders headers) throws ByteSourceException {
    requireSame(offset, ObjectVersion.of(0, headers));
    return END;
  }

  /** Handles the answer that an offset is after the end; it need not have size and version. */
  private int afterEnd(HttpPlace.Route route, long offset, HttpHeaders headers)
      throws ByteSourceException, PassingException {
    if (version.get() != null) { // which has this byte
      throw changed(offset, "it has no byte %d any more".formatted(offset));
    }
    OptionalLong size = ContentRange.sizeOf(headers);
    if (size.isEmpty()) {
      return withoutRange(route, offset);
    }
    return size.getAsLong() == 0 ? empty(offset, headers) : beyond(offset, size.getAsLong());
  }

  private int beyond(long offset, long size) throws ByteSourceException {
    if (offset < size) {
      String reason = "the server does not serve byte %d of %d".formatted(offset, size);
      throw caller.failure(Problem.WRONG_ANSWER, offset, reason, null);
    }
    return END;
  }

  /** Asks for the head of the whole object: signed addresses allow GET only. */
  private int withoutRange(HttpPlace.Route route, long offset)
      throws ByteSourceException, PassingException {
    RangeTransfer transfer = new RangeTransfer(NONE, answer -> 0, ByteBuffer.allocate(0));
    @Nullable PassingException broken = caller.send(route, offset, Map.of(), transfer);
    if (broken != null) {
      throw broken;
    } else if (transfer.status() != 200) {
      caller.withoutBytes(transfer, route, offset);
      return 0;
    }
    HttpHeaders headers = transfer.headers();
    requirePlain(offset, headers);
    long size = headers.firstValueAsLong("Content-Length").orElse(-1);
    if (size < 0) {
      String reason =
          "the server answered 416 without a size, and without one for the whole object";
      throw caller.failure(Problem.WRONG_ANSWER, offset, reason, null);
    }
    requireSame(offset, ObjectVersion.of(size, headers));
    route.keep();
    return beyond(offset, size);
  }
}
