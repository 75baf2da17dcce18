// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests that a rank is not named which only left because it had lost another one. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CulpritTest {
  private static final Duration LONG = Duration.ofSeconds(150);
  private static final Duration SHORT = Duration.ofSeconds(8); // enough to join on a busy machine

  private static OptionalInt lost(Runnable call) {
    PeerLostException failure = catchThrowableOfType(PeerLostException.class, call::run);
    assertThat(failure).isNotNull();
    return failure.rank();
  }

  /** Joins rank 0 with a short timeout. */
  private static void run(int ranks, RankThreads.Body body) throws Exception {
    Master master = Master.listen("127.0.0.1");
    RankThreads.run(
        ranks,
        rank ->
            ProcessGroup.join(
                rank == 0 ? master : Master.at("127.0.0.1", master.port()),
                new Part(ranks, rank),
                GroupOptions.ofTimeout(rank == 0 ? SHORT : LONG)),
        body);
  }

  @Test
  void ofACheckedCallTheRankThatHangsIsNamedByAll() throws Exception {
    CountDownLatch over = new CountDownLatch(2);
    run(
        3,
        group -> {
          if (group.rank() == 2) {
            over.await();
            return;
          }
          try {
            assertThat(lost(group::barrier)).as("rank %s", group.rank()).hasValue(2);
          } finally {
            over.countDown();
          }
        });
  }

  @Test
  void ofAnUncheckedCallTheRankThatHangsIsNamedByAll() throws Exception {
    CountDownLatch over = new CountDownLatch(2);
    run(
        3,
        group -> {
          if (group.rank() == 2) {
            over.await();
            return;
          }
          try (Tensor values = torch.ones(3)) {
            assertThat(lost(() -> group.unchecked().allReduce(values, ReduceOp.SUM)))
                .as("rank %s", group.rank())
                .hasValue(2);
          } finally {
            over.countDown();
            over.await(); // rank 0 serves the store
          }
        });
  }

  @Test
  void aReceiverNamesTheRankForWhichItsSenderHasLeft() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    RankThreads.run(
        3,
        LONG,
        group -> {
          try (Tensor one = torch.ones(1)) {
            if (group.rank() == 2) {
              group.close();
            } else if (group.rank() == 1) {
              assertThat(lost(() -> group.recv(one, 2, 0))).hasValue(2);
              group.close();
            } else {
              assertThat(lost(() -> group.recv(one, 1, 0))).hasValue(2);
              over.countDown();
            }
          }
          over.await();
        });
  }

  @Test
  void aReceiverDoesNotNameARankThatHadLeftBefore() throws Exception {
    CountDownLatch hasLeft = new CountDownLatch(1);
    CountDownLatch over = new CountDownLatch(1);
    RankThreads.run(
        3,
        LONG,
        group -> {
          try (Tensor one = torch.ones(1)) {
            if (group.rank() == 1) {
              group.close();
              hasLeft.countDown();
            } else if (group.rank() == 2) {
              hasLeft.await();
              group.close();
            } else {
              assertThat(lost(() -> group.recv(one, 2, 0))).hasValue(2);
              over.countDown();
            }
          }
          over.await();
        });
  }

  @Test
  void theStoreNamesTheRankForWhichItsServerHasLeft() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    RankThreads.run(
        3,
        LONG,
        group -> {
          if (group.rank() == 2) {
            group.close();
          } else if (group.rank() == 0) {
            assertThat(lost(group::barrier)).hasValue(2);
            group.close();
          } else {
            assertThat(lost(() -> group.store().get("a key", LONG))).hasValue(2);
            over.countDown();
          }
          over.await();
        });
  }

  @Test
  void theCauseOfAnAbortIsThatOfLaterFailures() throws Exception {
    CountDownLatch isAborted = new CountDownLatch(1);
    RankThreads.run(
        2,
        LONG,
        group -> {
          if (group.rank() == 1) {
            isAborted.await();
            assertThat(lost(group::barrier)).hasValue(0);
            return;
          }
          Work<Void> hung = group.async().barrier();
          ArithmeticException cause = new ArithmeticException("a division by zero");
          group.abort(cause);
          group.abort(); // the first one counts
          isAborted.countDown();
          for (ThrowingCallable call : List.<ThrowingCallable>of(hung::await, group::barrier)) {
            assertThatIllegalStateException()
                .isThrownBy(call)
                .withMessage("ProcessGroup was aborted: " + cause)
                .withCause(cause);
          }
          assertThatIllegalStateException()
              .isThrownBy(() -> group.store().get("a key", LONG))
              .withMessageContaining("ProcessGroup was aborted");
        });
  }
}
