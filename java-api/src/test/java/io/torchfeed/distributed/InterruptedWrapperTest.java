// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.Uneven;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests that an interrupt ends the waits of a wrapper for the other ranks. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InterruptedWrapperTest {
  private static final Duration LONG = Duration.ofMinutes(10);

  private enum Wait {
    WRAP,
    BACKWARD,
    BROADCAST_BUFFERS,
    UNEVEN_INPUTS,
    STATE_DICT,
    STEP_ACCUMULATED,
    REBIND;

    void run(DistributedDataParallel model, LinearImpl net, ProcessGroup group) {
      switch (this) {
        case WRAP -> DistributedDataParallel.wrap(net, group).close();
        case BACKWARD -> {
          try (Tensor loss = net.bias().sum().add(net.weight().sum())) {
            model.backward(loss);
          }
        }
        case BROADCAST_BUFFERS -> model.broadcastBuffers();
        case UNEVEN_INPUTS -> model.unevenInputs(Uneven.passes(1)).close();
        case STATE_DICT -> model.stateDict().close();
        case STEP_ACCUMULATED -> model.stepAccumulated(() -> {});
        case REBIND -> model.rebind(group);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void anInterruptEndsTheWait(Wait wait) throws Exception {
    CountDownLatch isOver = new CountDownLatch(1);
    RankThreads.run(
        2,
        LONG,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            LinearImpl net = new LinearImpl(3, 2);
            try (var model = DistributedDataParallel.wrap(net, group)) {
              if (group.rank() == 0) {
                interrupt(() -> wait.run(model, net, group));
                isOver.countDown();
              }
              isOver.await();
              if (group.rank() == 1) {
                assertThatExceptionOfType(PeerLostException.class).isThrownBy(group::barrier);
              }
            }
          }
        });
  }

  private static void interrupt(Runnable call) throws InterruptedException {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    boolean[] isInterrupted = new boolean[1];
    Thread thread =
        new Thread(
            () -> {
              try (PointerScope scope = new PointerScope()) {
                call.run();
              } catch (Throwable e) {
                failure.set(e);
              }
              isInterrupted[0] = Thread.currentThread().isInterrupted();
            });
    thread.start();
    NativeWait.await(thread);
    thread.interrupt();
    thread.join();
    assertThat(failure.get())
        .isInstanceOf(CollectiveInterruptedException.class)
        .hasMessageContaining("ProcessGroup was aborted");
    assertThat(isInterrupted[0]).isTrue();
  }
}
