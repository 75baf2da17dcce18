// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks that leave while others wait for them in a sub-group. */
class SubgroupFaultTest {
  private static final Executor SOON =
      CompletableFuture.delayedExecutor(200, TimeUnit.MILLISECONDS);
  private static final Duration LIMIT = Duration.ofSeconds(50);

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anInterruptEndsItForAllAndTheyCanFormItAgain(boolean isBefore) throws Exception {
    RankThreads.run(
        3,
        group -> {
          int[] members = {2, 0, 1};
          KeyValueStore store = group.store();
          if (group.rank() == 1) {
            CompletableFuture<Void> interrupt = interrupt(Thread.currentThread(), isBefore);
            assertThatExceptionOfType(CollectiveInterruptedException.class)
                .isThrownBy(() -> group.subgroup(members))
                .withMessageContaining("ProcessGroup is as before");
            assertThat(Thread.interrupted()).isTrue();
            interrupt.join();
          } else {
            if (group.rank() == 2) { // comes after the others have given up
              store.get("left", LIMIT);
            }
            PeerLostException lost =
                catchThrowableOfType(PeerLostException.class, () -> group.subgroup(members));
            assertThat(lost.rank()).hasValue(1);
            assertThat(lost).hasMessageContaining("its thread interrupted");
            store.set("left", "");
          }
          group.barrier();
          try (ProcessGroup again = group.subgroup(members)) {
            assertThat(again.rank()).isEqualTo((group.rank() + 1) % 3);
          }
        });
  }

  private static CompletableFuture<Void> interrupt(Thread thread, boolean isNow) {
    if (isNow) {
      thread.interrupt();
      return CompletableFuture.completedFuture(null);
    }
    return CompletableFuture.runAsync(thread::interrupt, SOON);
  }

  @Test
  void theOthersLearnOfAMemberThatAborts() throws Exception {
    endsForTheOthers(ProcessGroup::abort);
  }

  @Test
  void theOthersLearnOfAMemberThatCloses() throws Exception {
    endsForTheOthers(ProcessGroup::close);
  }

  private static void endsForTheOthers(Consumer<ProcessGroup> leave) throws Exception {
    CountDownLatch isOver = new CountDownLatch(1);
    RankThreads.run(
        3,
        group -> {
          if (group.rank() == 1) {
            CompletableFuture<Void> left =
                CompletableFuture.runAsync(() -> leave.accept(group), SOON);
            assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> group.subgroup(0, 1, 2));
            left.join();
          } else if (group.rank() == 0) {
            PeerLostException lost =
                catchThrowableOfType(PeerLostException.class, () -> group.subgroup(0, 1, 2));
            assertThat(lost.rank()).hasValue(1);
            assertThat(lost.waited()).isLessThan(LIMIT);
            isOver.countDown();
          } else {
            isOver.await();
          }
        });
  }
}
