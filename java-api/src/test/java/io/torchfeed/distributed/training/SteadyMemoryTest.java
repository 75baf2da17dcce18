// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.ProcessStatus;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.io.IOException;
import java.time.Duration;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Tests that 10,000 steps leave no more behind than a thousand. A tensor that no scope frees stays
 * until a garbage collection, and is seen here before one. They take 1 to 5 minutes.
 */
@Tag("long")
@ExtendWith(LeakCheck.class)
class SteadyMemoryTest {
  private static final int STEPS = 10_000;
  private static final int WARM_UP = 1_000;

  /** Pointers of the steps that the ranks are in. */
  private static final long MAX_POINTERS = 200;

  private static final long MAX_KIB = 64 << 10;

  /** A step of a rank. */
  private interface Step {
    void run(int step);
  }

  /** Runs the steps; rank 0 counts the pointers after each. */
  private static void assertSteady(ProcessGroup group, Step body) throws IOException {
    long pointers = 0;
    long resident = 0;
    for (int step = 0; step < STEPS; step++) {
      body.run(step);
      if (group.rank() == 0) {
        if (step == WARM_UP) {
          pointers = Pointer.totalCount();
          resident = ProcessStatus.residentKib();
        } else if (step > WARM_UP) {
          assertThat(Pointer.totalCount() - pointers)
              .as("pointers added up to step %d", step)
              .isLessThan(MAX_POINTERS);
        }
      }
    }
    if (group.rank() == 0) {
      assertThat(ProcessStatus.residentKib() - resident).as("KiB added").isLessThan(MAX_KIB);
    }
  }

  @Test
  void asynchronousAveraging() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Weights net = new Weights(group.rank());
            AveragingAlgorithm algorithm = AveragingAlgorithm.asynchronous(Duration.ZERO);
            try (ModelAveraging model = ModelAveraging.wrap(net, group, algorithm)) {
              assertSteady(
                  group,
                  step -> {
                    do { // as many exchanges, which are in the background
                      model.step(() -> {}, () -> net.add(0, 1));
                    } while (model.exchanges() < step);
                  });
            }
          }
        });
  }

  @Test
  void rebind() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            ResumeNet net = new ResumeNet(1);
            try (var model = DistributedDataParallel.wrap(net, group)) {
              assertSteady(
                  group,
                  step -> {
                    try (PointerScope ofStep = new PointerScope()) {
                      model.rebind(group);
                      model.backward(net.loss(group.rank(), step));
                      net.trained().forEach(parameter -> parameter.mutable_grad().reset());
                    }
                  });
            }
          }
        });
  }

  @Test
  void unevenInputs() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            ResumeNet net = new ResumeNet(1);
            try (var model = DistributedDataParallel.wrap(net, group)) {
              assertSteady(
                  group,
                  step -> {
                    try (PointerScope ofStep = new PointerScope();
                        UnevenInputs join = model.unevenInputs(Uneven.passes(group.rank()))) {
                      if (group.rank() == 1) {
                        model.backward(net.loss(1, step));
                      }
                      join.shadow(() -> {});
                      model.verifyReplicas();
                      net.trained().forEach(parameter -> parameter.mutable_grad().reset());
                    }
                  });
            }
          }
        });
  }
}
