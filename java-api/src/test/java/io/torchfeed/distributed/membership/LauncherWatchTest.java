// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.membership.LauncherWatch.Place;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of when a process is killed that its launcher, or its coordinator, does not end. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LauncherWatchTest {
  private static final Duration GRACE = Duration.ofMillis(20);

  private final AtomicInteger looks = new AtomicInteger();
  private final AtomicInteger ends = new AtomicInteger();
  private final CountDownLatch left = new CountDownLatch(1);

  private void run(BooleanSupplier isLauncherThere, AtomicReference<Place> current) {
    new LauncherWatch(isLauncherThere, current::get, GRACE).run(ends::incrementAndGet);
  }

  private Place place(BooleanSupplier isExpelled) {
    return new Place(isExpelled, left::countDown);
  }

  @Test
  void aProcessWhoseLauncherIsGoneLeavesAndIsEnded() throws Exception {
    run(() -> looks.incrementAndGet() < 3, new AtomicReference<>(place(() -> false)));
    left.await();
    assertThat(looks).hasValue(3);
    assertThat(ends).hasValue(1);
  }

  @Test
  void whatALookThrowsEndsNeitherTheWatchNorTheProcess() {
    run(
        () -> {
          assertThat(ends).hasValue(0);
          switch (looks.incrementAndGet()) {
            case 1 -> throw new OutOfMemoryError("as in a full heap");
            case 2 -> throw new IllegalStateException("unknown");
            default -> {
              return looks.get() < 6;
            }
          }
        },
        new AtomicReference<>(place(() -> false)));
    assertThat(looks).hasValue(6);
    assertThat(ends).hasValue(1);
  }

  @Test
  void aProcessThatWasExpelledIsEndedWithoutLeaving() {
    run(() -> true, new AtomicReference<>(place(() -> true)));
    assertThat(ends).hasValue(1);
    assertThat(left.getCount()).isEqualTo(1);
  }

  @Test
  void aProcessThatWasExpelledAndHasJoinedAgainIsNotEnded() {
    AtomicReference<Place> current = new AtomicReference<>();
    AtomicInteger expelled = new AtomicInteger();
    Place again = place(() -> false);
    current.set(
        place(
            () -> {
              expelled.incrementAndGet();
              current.set(again); // joins between this look and the next
              return true;
            }));
    run(() -> looks.incrementAndGet() < 20, current); // ten times the grace period
    assertThat(expelled).hasValue(1);
    assertThat(looks).as("looks before the launcher was gone").hasValue(20);
  }
}
