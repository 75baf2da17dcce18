// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests barriers with a timeout of their own, in groups that would wait for half an hour. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BarrierTimeoutTest {
  private static final Map<String, String> ALONE = Map.of("RANK", "0", "WORLD_SIZE", "1");
  private static final Duration SHORT = Duration.ofMillis(300);
  private static final Duration UNTIL_OTHERS_BEGAN = Duration.ofSeconds(3);
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration GROUP = Duration.ofMinutes(30);

  private static PeerLostException lost(ThrowingCallable barrier) {
    return catchThrowableOfType(PeerLostException.class, barrier);
  }

  private static void receive(ProcessGroup group) {
    try (Tensor tensor = torch.zeros(1)) {
      group.recv(tensor, 0, 0);
    }
  }

  @Test
  void allRanksThatAreMissingAreNamed() throws Exception {
    CountDownLatch over = new CountDownLatch(2);
    RankThreads.run(
        4,
        GROUP,
        group -> {
          if (group.rank() % 2 == 0) {
            PeerLostException failure =
                lost(group.rank() == 0 ? () -> group.barrier(SHORT) : group::barrier);
            assertThat(failure)
                .as("rank %s", group.rank())
                .hasMessageContaining("; ranks [1, 3] are in no call");
            if (group.rank() == 0) {
              assertThat(failure).hasMessageContaining("no answer within the timeout of 300 ms");
            }
            assertThat(failure.rank()).isEmpty();
            over.countDown();
          }
          over.await();
        });
  }

  @Test
  void aSingleRankThatIsMissingIsKnown() throws Exception {
    CountDownLatch over = new CountDownLatch(3);
    RankThreads.run(
        4,
        GROUP,
        group -> {
          if (group.rank() != 1) {
            PeerLostException failure =
                lost(
                    group.rank() == 2
                        ? () -> group.async().barrier(SHORT).await()
                        : () -> group.unchecked().barrier(SHORT));
            assertThat(failure).hasMessageContaining("; ranks [1] are in no call");
            assertThat(failure.rank()).hasValue(1);
            over.countDown();
          }
          over.await();
        });
  }

  @Test
  void ofTwoRanksTheOtherOneIsNamed() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    RankThreads.run(
        2,
        GROUP,
        group -> {
          if (group.rank() == 0) {
            assertThat(lost(() -> group.barrier(SHORT)))
                .hasMessageStartingWith("rank 1 was lost during barrier after ")
                .hasMessageEndingWith(
                    ": no answer within the timeout of 300 ms; ranks [1] are in no call");
            over.countDown();
          }
          over.await();
        });
  }

  @Test
  void aRankInAnotherCallIsNamedWithIt() throws Exception {
    RankThreads.run(
        2,
        GROUP,
        group -> {
          PeerLostException failure =
              lost(
                  group.rank() == 0
                      ? () -> group.unchecked().barrier(UNTIL_OTHERS_BEGAN)
                      : () -> receive(group));
          assertThat(failure.rank()).hasValue(1 - group.rank());
          if (group.rank() == 0) {
            assertThat(failure).hasMessageStartingWith("rank 1 waits in recv while this rank");
          }
        });
  }

  @Test
  void aGroupWhoseRanksComeInTimeIsUsedOn() throws Exception {
    RankThreads.run(
        3,
        GROUP,
        group -> {
          for (int i = 0; i < 3; i++) {
            group.barrier(group.rank() == i ? MINUTE : Duration.ofSeconds(Long.MAX_VALUE));
            group.unchecked().barrier(MINUTE);
            group.async().barrier(MINUTE).await();
          }
          group.barrier();
        });
  }

  @Test
  void aTimeoutThatIsNotPositiveIsRefused() {
    try (ProcessGroup alone = ProcessGroup.join(ALONE, GroupOptions.defaults())) {
      for (Duration refused : new Duration[] {Duration.ZERO, Duration.ofNanos(999_999)}) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> alone.barrier(refused))
            .withMessage("timeout must be at least 1 ms, got " + refused);
      }
      alone.barrier(Duration.ofMillis(1));
    }
  }
}
