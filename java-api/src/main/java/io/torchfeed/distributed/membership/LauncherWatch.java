// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.AwakeClock;
import io.torchfeed.internal.ParentProcess;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A watch over the launcher of this process, and over its place in the job. A launcher that is
 * killed cannot end its ranks: each leaves the job, and is killed if it does not end by itself. The
 * same holds for a process that the coordinator has expelled, unless it has joined again: its
 * launcher may be on another machine, and learns nothing of it.
 */
final class LauncherWatch {
  /**
   * A membership, as far as the watch is concerned.
   *
   * @param leave asks to leave the job
   */
  record Place(BooleanSupplier isExpelled, Runnable leave) {}

  static final Duration GRACE = Duration.ofSeconds(30);

  private static final Duration POLL = Duration.ofMillis(250);
  private static final int EXIT_CODE = 143;
  private static final AtomicReference<@Nullable Place> CURRENT = new AtomicReference<>();

  private final BooleanSupplier isLauncherThere;
  private final Supplier<Place> current;
  private final Duration grace;
  private OptionalLong goneSince = OptionalLong.empty();
  private OptionalLong expelledSince = OptionalLong.empty();
  private @Nullable Place expelled;

  /**
   * Creates a watch.
   *
   * @param current the last place of this process
   * @param grace the time it has to end by itself
   */
  LauncherWatch(BooleanSupplier isLauncherThere, Supplier<Place> current, Duration grace) {
    this.isLauncherThere = isLauncherThere;
    this.current = current;
    this.grace = grace;
  }

  /**
   * Starts to watch; from the second call on, only the place is another one.
   *
   * @param launcher the process id of the parent
   */
  static void start(long launcher, Place place) {
    if (CURRENT.getAndSet(place) != null) {
      return;
    }
    boolean isRunning = false;
    try {
      LauncherWatch watch =
          new LauncherWatch(
              () -> ParentProcess.isParent(launcher), () -> requireNonNull(CURRENT.get()), GRACE);
      // an orderly exit could hang
      daemon("watch", () -> watch.run(() -> Runtime.getRuntime().halt(EXIT_CODE)));
      isRunning = true;
    } finally {
      if (!isRunning) {
        CURRENT.set(null);
      }
    }
  }

  /**
   * Watches until this process must end. Nothing thrown here, not even OutOfMemoryError, may end
   * the watch or the process.
   */
  @SuppressWarnings("CatchingUnchecked")
  void run(Runnable end) {
    AwakeClock clock = new AwakeClock(2 * POLL.toNanos(), System::nanoTime);
    boolean mustEnd = false;
    while (!mustEnd) {
      try {
        LockSupport.parkNanos(Math.min(POLL.toNanos(), grace.toNanos()));
        Thread.interrupted(); // otherwise every later pause would return immediately
        mustEnd = look(clock.now());
      } catch (Throwable e) {
        mustEnd = false; // unknown: look again
      }
    }
    end.run();
  }

  private boolean look(long now) {
    Place place = current.get();
    if (goneSince.isPresent()) {
      return isOver(goneSince, now);
    }
    if (!isLauncherThere.getAsBoolean()) {
      goneSince = OptionalLong.of(now);
      daemon("leave", place.leave());
      say("the launcher of this process is gone: it leaves the job, and is killed in %d s%n");
      return false;
    }
    if (!place.isExpelled().getAsBoolean()) {
      return false;
    }
    if (!place.equals(expelled)) {
      expelled = place;
      expelledSince = OptionalLong.of(now);
      say("this process was expelled from its job, and is killed in %d s%n");
    }
    return isOver(expelledSince, now);
  }

  private boolean isOver(OptionalLong since, long now) {
    return now - since.getAsLong() > grace.toNanos();
  }

  /** Standard error may be a full pipe, so writing to it is not awaited. */
  private void say(String text) {
    daemon("says", () -> System.err.printf(text, grace.toSeconds()));
  }

  private static void daemon(String name, Runnable body) {
    Thread thread = new Thread(body, "torchfeed-launcher-" + name);
    thread.setDaemon(true);
    thread.start();
  }
}
