// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of ranks with different numbers of batches, with threads as ranks. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UnevenInputsTest {
  /** The training of one rank: its model, and Adam, whose moments depend on all earlier steps. */
  private record Training(LinearImpl net, DistributedDataParallel model, Adam optimizer)
      implements AutoCloseable {
    static Training of(ProcessGroup group) {
      LinearImpl net = new LinearImpl(3, 2);
      return new Training(
          net,
          DistributedDataParallel.wrap(net, group),
          new Adam(net.parameters(), new AdamOptions(0.1)));
    }

    void pass(int rank, int pass) {
      try (PointerScope scope = new PointerScope()) {
        Tensor rows = Tensor.create(new float[] {rank, pass, 1, pass, rank, 2}, 2, 3);
        optimizer.zero_grad();
        model.backward(net.forward(rows).pow(new Scalar(2)).mean());
        optimizer.step();
      }
    }

    @Override
    public void close() {
      model.close();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void ranksThatHaveFinishedShadowTheOthers(boolean isCounted) throws Exception {
    List<Integer> passes = List.of(2, 5, 0);
    RankThreads.run(
        3,
        group -> {
          int mine = passes.get(group.rank());
          try (PointerScope scope = new PointerScope();
              Training training = Training.of(group)) {
            int[] shadowed = new int[1];
            Uneven uneven = isCounted ? Uneven.passes(mine) : Uneven.announced();
            try (UnevenInputs join = training.model.unevenInputs(uneven)) {
              for (int pass = 0; pass < mine; pass++) {
                join.announce();
                training.pass(group.rank(), pass);
              }
              join.shadow(
                  () -> {
                    shadowed[0]++;
                    training.optimizer.step();
                  });
            }
            assertThat(shadowed[0]).isEqualTo(5 - mine);
            training.model.verifyReplicas();
            training.pass(group.rank(), 9); // even again; the moments of all ranks must be equal
            training.model.verifyReplicas();
            assertThat(training.model.reductions()).isEqualTo(6);
          }
        });
  }

  @Test
  void theSumMayBeDividedByTheRanksThatHaveABatch() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              Training training = Training.of(group)) {
            for (boolean divideByActive : List.of(false, true)) {
              Uneven uneven = Uneven.passes(group.rank());
              if (divideByActive) {
                uneven = uneven.divideByActive();
              }
              try (UnevenInputs join = training.model.unevenInputs(uneven)) {
                Tensor bias = training.net.bias();
                if (group.rank() == 1) {
                  training.optimizer.zero_grad();
                  training.model.backward(training.net.weight().sum().add(bias.sum()));
                }
                join.shadow(() -> {});
                assertThat(
                        torch.allclose(
                            bias.grad(),
                            torch.full(new long[] {2}, scalar(divideByActive ? 1 : 0.5))))
                    .isTrue();
              }
            }
          }
        });
  }

  private static Scalar scalar(double value) {
    return new Scalar(value);
  }

  @Test
  void misuseIsRefused() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              Training training = Training.of(group)) {
            assertThatIllegalArgumentException()
                .isThrownBy(() -> Uneven.passes(-1))
                .withMessage("passes must be at least 0, got -1");
            assertThatIllegalArgumentException()
                .isThrownBy(
                    () -> {
                      Uneven one = Uneven.passes(1);
                      training.model.unevenInputs(group.rank() == 1 ? one.divideByActive() : one);
                    })
                .withMessageContaining("all ranks must begin uneven inputs in the same way");
            UnevenInputs join = training.model.unevenInputs(Uneven.passes(1));
            assertThatIllegalStateException()
                .isThrownBy(() -> training.model.unevenInputs(Uneven.passes(1)));
            assertThatIllegalStateException()
                .isThrownBy(() -> join.shadow(() -> {}))
                .withMessageContaining("1 backward passes left");
            training.pass(group.rank(), 0);
            assertThatIllegalStateException()
                .isThrownBy(() -> training.pass(group.rank(), 1))
                .withMessageContaining("all backward passes of its uneven inputs");
            join.shadow(() -> {});
            join.close();
            join.close();
            assertThatIllegalStateException()
                .isThrownBy(join::announce)
                .withMessage("the scope is closed");
            assertThatIllegalStateException().isThrownBy(() -> join.shadow(() -> {}));
            training.pass(group.rank(), 1);
            training.model.unevenInputs(Uneven.passes(2)).close();
            assertThatIllegalStateException()
                .isThrownBy(() -> training.pass(group.rank(), 2))
                .withMessageContaining("in which ranks had passes left");
          }
        });
  }

  @Test
  void divideByActiveIsAnotherValueWhichNamesItsCalls() {
    Uneven passes = Uneven.passes(10);
    assertThat(passes.divideByActive()).hasToString("Uneven.passes(10).divideByActive()");
    assertThat(passes).hasToString("Uneven.passes(10)");
    assertThat(Uneven.announced().divideByActive())
        .hasToString("Uneven.announced().divideByActive()");
  }

  @Test
  void aScopeOfAClosedModelEndsSilently() throws Exception {
    RankThreads.run(
        1,
        group -> {
          try (PointerScope scope = new PointerScope();
              Training training = Training.of(group)) {
            UnevenInputs join = training.model.unevenInputs(Uneven.passes(1));
            training.model.close();
            join.close();
          }
        });
  }
}
