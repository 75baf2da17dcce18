// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * The notes of refused connections: the first ones of an interval and the number of the others,
 * since strangers decide how many there are. Not thread-safe.
 */
public final class Refusals {
  public static final int MOST = 16;
  public static final Duration INTERVAL = Duration.ofSeconds(10);

  private final Consumer<String> notes;
  private long start;
  private int noted;
  private int left;

  /**
   * Begins an interval.
   *
   * @param notes receives a sentence each
   */
  public Refusals(Consumer<String> notes, long now) {
    this.notes = notes;
    this.start = now;
  }

  /** Notes a refused connection, or counts it. */
  public void add(String text, long now) {
    tick(now);
    if (noted < MOST) {
      noted++;
      notes.accept(text);
    } else {
      left++;
    }
  }

  /** Ends the interval if it is over; to be called now and then. */
  public void tick(long now) {
    if (now - start < INTERVAL.toNanos()) {
      return;
    }
    if (left > 0) {
      long seconds = Duration.ofNanos(now - start).toSeconds();
      notes.accept("%d more connections were refused within %d s".formatted(left, seconds));
    }
    start = now;
    noted = 0;
    left = 0;
  }
}
