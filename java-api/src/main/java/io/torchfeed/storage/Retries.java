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

    /** The limit for a server that has never answered; null for the usual one. */
    private final @Nullable Duration most;

    PassingException(String reason, Duration wait, @Nullable Throwable cause) {
      super(reason, cause);
      this.wait = wait;
      most = null;
    }

    /** Creates a failure that seldom passes where no server has answered before. */
    PassingException(String reason, Throwable cause, Duration most) {
      super(reason, cause);
      wait = Duration.ZERO;
      this.most = most;
    }

    Duration asked() {
      return wait;
    }

    Duration limit(Duration all, boolean isKnown) {
      return isKnown || most == null || most.compareTo(all) > 0 ? all : most;
    }
  }

  /**
   * Waits before the next try.
   *
   * @param isKnown whether the server has answered before
   * @return null, or why none follows
   * @throws InterruptedException if the thread is interrupted
   */
  @Nullable String pause(PassingException failure, boolean isKnown) throws InterruptedException {
    failures++;
    Duration most = failure.limit(limit, isKnown);
    long left = most.minusNanos(System.nanoTime() - start).toMillis();
    if (left <= 0) {
      return failures == 1 ? "" : "; this was try %d within %s".formatted(failures, most);
    }
    long asked = failure.asked().toMillis();
    if (asked > left) {
      return "; the server asks to wait %d s, which is more than is left of %s"
          .formatted(failure.asked().toSeconds(), most);
    }
    long longest = Math.min(MAX_MILLIS, FIRST_MILLIS << Math.min(failures - 1, MAX_DOUBLINGS));
    long drawn = ThreadLocalRandom.current().nextLong(longest / 2, longest + 1);
    Thread.sleep(Math.max(asked, Math.min(drawn, left)));
    return null;
  }
}
