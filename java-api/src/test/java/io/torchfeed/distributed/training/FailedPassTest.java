// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Tests of the calls of a wrapper after a failed backward pass, and in a step of several passes.
 */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailedPassTest {
  private static final Duration LONG = Duration.ofSeconds(100);

  private static BatchNorm1dImpl batchNorm() {
    return new BatchNorm1dImpl(new BatchNormOptions(3));
  }

  private static void assertRefused(DistributedDataParallel model) {
    assertThatIllegalStateException()
        .isThrownBy(model::verifyReplicas)
        .withMessageContaining("an earlier backward pass failed: parameter");
    assertThatIllegalStateException()
        .isThrownBy(model::broadcastBuffers)
        .withMessageContaining("an earlier backward pass failed: parameter");
  }

  @Test
  void replicasAreNotVerifiedAfterAPassThatFailedEverywhere() throws Exception {
    RankThreads.run(
        2,
        LONG,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            LinearImpl net = new LinearImpl(3, 2);
            try (var model = DistributedDataParallel.wrap(net, group)) {
              assertThatIllegalStateException()
                  .isThrownBy(() -> model.backward(net.bias().sum()))
                  .withMessageContaining("received no gradient");
              assertRefused(model);
            }
          }
        });
  }

  @Test
  void aRankWhosePassFailedDoesNotWaitForTheOthers() throws Exception {
    RankThreads.run(
        2,
        LONG,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            LinearImpl net = new LinearImpl(3, 2);
            try (var model = DistributedDataParallel.wrap(net, group)) {
              if (group.rank() == 0) {
                assertThatIllegalStateException()
                    .isThrownBy(() -> model.backward(net.bias().sum()))
                    .withMessageContaining("received no gradient");
                assertRefused(model);
                group.close();
              } else {
                Tensor loss = net.bias().sum().add(net.weight().sum());
                assertThatExceptionOfType(PeerLostException.class)
                    .isThrownBy(() -> model.backward(loss));
              }
            }
          }
        });
  }

  @Test
  @SuppressWarnings("NullAway") // a function can be written without null checks
  void aLossThatIsNullIsRefusedBeforeThePass() throws Exception {
    RankThreads.run(
        2,
        LONG,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            LinearImpl net = new LinearImpl(3, 2);
            try (var model = DistributedDataParallel.wrap(net, group)) {
              for (ThrowingCallable pass :
                  List.<ThrowingCallable>of(
                      () -> model.step(() -> null, () -> {}), () -> model.accumulate(() -> null))) {
                assertThatIllegalArgumentException()
                    .isThrownBy(pass)
                    .withMessageStartingWith(
                        "loss must be a single number with a gradient, got null");
              }
              model.step(() -> net.forward(torch.ones(4, 3)).sum(), () -> {});
              assertThat(model.verifyReplicas()).isNotEmpty();
            }
          }
        });
  }

  @Test
  void severalForwardPassesOfAStepNeedOneCallOfBeforeForward() throws Exception {
    var options =
        DataParallelOptions.defaults()
            .withBufferMode(DataParallelOptions.BufferMode.BEFORE_FORWARD);
    RankThreads.run(
        2,
        LONG,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Module net = new Module();
            BatchNorm1dImpl norm = net.register_module("norm", batchNorm());
            try (var model = DistributedDataParallel.wrap(net, group, options)) {
              for (int step = 0; step < 2; step++) {
                model.beforeForward();
                Tensor real = norm.forward(torch.randn(4, 3));
                Tensor fake = norm.forward(torch.randn(4, 3));
                model.backward(real.sum().sub(fake.sum()));
              }
              model.beforeForward();
              Tensor real = norm.forward(torch.randn(4, 3));
              model.beforeForward();
              Tensor fake = norm.forward(torch.randn(4, 3));
              assertThatIllegalStateException()
                  .isThrownBy(() -> model.backward(real.sum().sub(fake.sum())))
                  .withMessageContaining("modified by an inplace operation")
                  .withMessageContaining("call it once, before all forward passes");
            }
          }
        });
  }
}
