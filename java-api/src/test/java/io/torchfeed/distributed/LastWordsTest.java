// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the words that ranks leave for each other when they give up. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LastWordsTest {
  private static final Duration LONG = Duration.ofSeconds(150);
  private static final Duration SHORT = Duration.ofSeconds(8); // enough to join on a busy machine

  /** Joins one rank with a short timeout. */
  private static void run(int ranks, int impatient, RankThreads.Body body) throws Exception {
    Master master = Master.listen("127.0.0.1");
    RankThreads.run(
        ranks,
        rank ->
            ProcessGroup.join(
                rank == 0 ? master : Master.at("127.0.0.1", master.port()),
                new Part(ranks, rank),
                GroupOptions.ofTimeout(rank == impatient ? SHORT : LONG)),
        body);
  }

  private static void train(DistributedDataParallel model, LinearImpl net) {
    try (Tensor loss = net.bias().sum().add(net.weight().sum())) {
      model.backward(loss);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void theCallOfARankThatLeftOutABackwardPassIsNamedByBoth(int impatient) throws Exception {
    CountDownLatch over = new CountDownLatch(2);
    run(
        2,
        impatient,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            LinearImpl net = new LinearImpl(3, 2);
            try (var model = DistributedDataParallel.wrap(net, group)) {
              PeerLostException failure =
                  catchThrowableOfType(
                      PeerLostException.class,
                      group.rank() == 0 ? () -> train(model, net) : group::barrier);
              assertThat(failure)
                  .hasMessageStartingWith(
                      group.rank() == 0
                          ? "rank 1 waits in barrier while this rank waits in backward, after "
                          : "rank 0 waits in backward while this rank waits in barrier, after ")
                  .hasMessageContaining("the same calls in the same order");
              assertThat(failure.rank()).hasValue(1 - group.rank());
            } finally {
              over.countDown();
              over.await();
            }
          }
        });
  }

  @Test
  void ofThreeRanksTheOneWithAnotherCallIsNamed() throws Exception {
    CountDownLatch over = new CountDownLatch(3);
    run(
        3,
        1,
        group -> {
          try {
            PeerLostException failure =
                catchThrowableOfType(
                    PeerLostException.class,
                    group.rank() == 2
                        ? () -> group.unchecked().allGatherLongs(new long[1])
                        : group::barrier);
            if (group.rank() == 1) {
              assertThat(failure)
                  .hasMessageStartingWith("rank 2 waits in all-gather while this rank waits in ");
              assertThat(failure.rank()).hasValue(2);
            }
          } finally {
            over.countDown();
            over.await();
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void theCauseOfAnAbortReachesTheOthers(int failing) throws Exception {
    CountDownLatch over = new CountDownLatch(2);
    RankThreads.run(
        3,
        LONG,
        group -> {
          if (group.rank() == failing) {
            group.abort(new ArithmeticException("a row\nis 0"));
            group.close(); // rank 0 serves the store
            over.await();
            return;
          }
          try {
            assertThatExceptionOfType(PeerLostException.class)
                .isThrownBy(group::barrier)
                .withMessageStartingWith("rank %d was lost during barrier after ", failing)
                .withMessageEndingWith(
                    ": it gave up because of java.lang.ArithmeticException: a row\\nis 0")
                .satisfies(failure -> assertThat(failure.rank()).hasValue(failing));
          } finally {
            over.countDown();
          }
        });
  }
}
