// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** The waits between the tries of one read: exponential, with jitter, until a limit. */
final class Retries {
  private static final long FIRST_MILLIS = 200;
  private static final int MAX_DOUBLINGS = 7; // 25.6 s
  private static final long MAX_MILLIS = 20_000;

  private final Duration limit;
  private final long start = System.nanoTime();
  private int failures;

  Retries(Duration limit) {
    this.limit = limit;
  }

  /** A failure that may pass. */
  static final class PassingException extends IOException {
    private static final long serialVersionUID = 1L;

    /** The time that the server asks to wait. */
    private final Duration wait;

    PassingException(String reason, Duration wait, @Nullable Throwable cause) {
      super(reason, cause);
      this.wait = wait;
    }

    Duration asked() {
      return wait;
    }
  }

  /**
   * Waits before the next try.
   *
   * @return null, or why none follows
   * @throws InterruptedException if the thread is interrupted
   */
  @Nullable String pause(PassingException failure) throws InterruptedException {
    failures++;
    long left = limit.minusNanos(System.nanoTime() - start).toMillis();
    if (left <= 0) {
      return failures == 1 ? "" : "; this was try %d within %s".formatted(failures, limit);
    }
    long asked = failure.asked().toMillis();
    if (asked > left) {
      return "; the server asks to wait %d s, which is more than is left of %s"
          .formatted(failure.asked().toSeconds(), limit);
    }
    long most = Math.min(MAX_MILLIS, FIRST_MILLIS << Math.min(failures - 1, MAX_DOUBLINGS));
    long drawn = ThreadLocalRandom.current().nextLong(most / 2, most + 1);
    Thread.sleep(Math.max(asked, Math.min(drawn, left)));
    return null;
  }
}
