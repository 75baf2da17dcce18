// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that a state arrives on the other ranks as it was sent. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StateTransferTest {
  private static final List<torch.ScalarType> TYPES =
      List.of(
          torch.ScalarType.Float,
          torch.ScalarType.Double,
          torch.ScalarType.Half,
          torch.ScalarType.BFloat16,
          torch.ScalarType.Long,
          torch.ScalarType.Bool);

  /** Tensors of each type, among them an empty one and one without dimensions. */
  private static Map<String, Tensor> tensors(int seed) {
    Map<String, Tensor> tensors = new TreeMap<>();
    for (torch.ScalarType type : TYPES) {
      Tensor values = torch.arange(new Scalar(15)).mul(new Scalar(seed)).remainder(new Scalar(7));
      tensors.put("values of " + type.name(), values.view(3, 5).to(type));
      tensors.put("number of " + type.name(), torch.scalar_tensor(new Scalar(seed)).to(type));
      tensors.put("none of " + type.name(), values.narrow(0, 0, 0).to(type));
    }
    return tensors;
  }

  /** Keeps the state that it gets. */
  private static final class Kept implements Stateful {
    private final int seed;
    private final List<String> loaded = new CopyOnWriteArrayList<>();

    Kept(int seed) {
      this.seed = seed;
    }

    @Override
    public StateDict stateDict() {
      try (PointerScope scope = new PointerScope()) {
        return StateDict.of("{\"of\":\"%d ü\"}".formatted(seed), tensors(seed));
      }
    }

    @Override
    public void loadStateDict(StateDict state) {
      try (PointerScope scope = new PointerScope()) {
        Map<String, Tensor> expected = tensors(2);
        state.requireFit(expected);
        expected.forEach(
            (name, tensor) ->
                assertThat(tensor.equal(state.tensors().get(name))).as(name).isTrue());
        loaded.add(state.json());
      }
    }
  }

  @Test
  void allTypesAndShapesArriveOnAllOtherRanks() throws Exception {
    List<Kept> states = List.of(new Kept(1), new Kept(2), new Kept(3));
    RankThreads.run(
        3, group -> StateTransfer.broadcast(states.get(group.rank()), group, /* root= */ 1));
    assertThat(states.get(0).loaded).containsExactly("{\"of\":\"2 ü\"}");
    assertThat(states.get(1).loaded).isEmpty();
    assertThat(states.get(2).loaded).containsExactly("{\"of\":\"2 ü\"}");
  }

  /** The others end at once; the timeout of the group is longer than the one of this test. */
  @Test
  void aRootThatCannotSaveItsStateTellsTheOthersWhy() throws Exception {
    Stateful state =
        TrainingState.builder()
            .text(
                "part",
                () -> {
                  throw new IllegalArgumentException("a pass is open");
                },
                got -> {})
            .build();
    CountDownLatch heard = new CountDownLatch(1);
    RankThreads.run(
        2,
        Duration.ofMinutes(2),
        group -> {
          if (group.rank() == 1) {
            assertThatIllegalArgumentException()
                .isThrownBy(() -> StateTransfer.broadcast(state, group, 1))
                .withMessage("a pass is open");
            heard.await();
          } else {
            assertThatExceptionOfType(PeerLostException.class)
                .isThrownBy(() -> StateTransfer.broadcast(state, group, 1))
                .withMessageContaining("it gave up because of java.lang.IllegalArgumentException")
                .withMessageContaining("a pass is open")
                .satisfies(e -> assertThat(e.rank()).hasValue(1));
            heard.countDown();
          }
        });
  }

  @Test
  void aRankOfOtherPartsRefusesTheState() throws Exception {
    RankThreads.run(
        2,
        group -> {
          String part = group.rank() == 0 ? "first" : "second";
          TrainingState state = TrainingState.builder().text(part, () -> "sent", got -> {}).build();
          if (group.rank() == 0) {
            StateTransfer.broadcast(state, group, 0);
          } else {
            assertThatIllegalArgumentException()
                .isThrownBy(() -> StateTransfer.broadcast(state, group, 0))
                .withMessageContaining("lacks the parts [second] of this state and has [first]");
          }
          group.barrier(); // the group is as before
        });
  }
}
