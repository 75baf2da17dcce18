// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of limits that no clock can count, or that allow no wait. */
@Timeout(60)
class TimeLimitsTest {
  private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

  @Test
  void aGroupMayWaitForever() throws Exception {
    RankThreads.run(
        2,
        FOREVER,
        group -> {
          group.monitoredBarrier(FOREVER);
          try (ProcessGroup all = group.subgroup(0, 1);
              Tensor ones = torch.ones(4)) {
            Work<Void> work = all.async().allReduce(ones, ReduceOp.SUM);
            assertThat(work.await(FOREVER)).isTrue();
            work.await(Duration.ofSeconds(Long.MIN_VALUE));
            all.store().set("key", "value");
            assertThat(all.store().getString("key", FOREVER)).isEqualTo("value");
          }
        });
    Launcher.builder().mainClass("Main").grace(FOREVER).build();
  }

  @Test
  void rankZeroLeavesABarrierAtItsLimitThoughAnotherDoesNot() throws Exception {
    RankThreads.run(
        2,
        group -> {
          KeyValueStore store = group.store();
          if (group.rank() == 0) {
            store.barrier(group.part(), Duration.ofSeconds(1));
            store.set("passed", "yes");
          } else {
            store.set("1", ""); // is there, and is lost before it leaves
            assertThat(store.getString("passed", Duration.ofSeconds(8))).isEqualTo("yes");
          }
        });
  }

  @Test
  @SuppressWarnings("NullAway") // callers may have no null checks
  void limitsThatAllowNoWaitAreNamed() throws Exception {
    RankThreads.run(
        1,
        group -> {
          assertThatNullPointerException()
              .isThrownBy(() -> group.monitoredBarrier(null))
              .withMessage("limit");
          assertThatIllegalArgumentException()
              .isThrownBy(() -> group.monitoredBarrier(Duration.ZERO))
              .withMessage("limit must be at least 1 ms, got PT0S");
        });
    Master nowhere = Master.at("127.0.0.1", 1);
    Part alone = new Part(1, 0);
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                ProcessGroup.join(
                    nowhere, alone, GroupOptions.ofTimeout(Duration.ofSeconds(Long.MIN_VALUE))))
        .withMessageStartingWith("timeout must be at least 1 ms, got PT-");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Launcher.builder().grace(Duration.ofMillis(-1)))
        .withMessage("grace must be at least 0, got PT-0.001S");
    assertThatNullPointerException()
        .isThrownBy(() -> Launcher.builder().grace(null))
        .withMessage("grace");
  }
}
