// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static io.torchfeed.testing.LargeTensors.ABOVE_2_GIB;
import static io.torchfeed.testing.LargeTensors.ABOVE_4_GIB;
import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.testing.LargeTensors;
import io.torchfeed.testing.RankThreads;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a state with a tensor of 2 GiB and more arrives as a whole. */
@Tag("large")
class LargeStateTransferTest {
  /** Sends a marked tensor, and expects the one that it gets to be marked. */
  private record Marked(long bytes) implements Stateful {
    @Override
    public StateDict stateDict() {
      try (PointerScope scope = new PointerScope()) {
        return StateDict.sharing("{}", Map.of("weight", LargeTensors.marked(bytes)));
      }
    }

    @Override
    public void loadStateDict(StateDict state) {
      LargeTensors.assertMarked(requireNonNull(state.tensors().get("weight")));
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB, ABOVE_4_GIB})
  void aLargeTensorArrivesAsItWasSent(long bytes) throws Exception {
    LargeTensors.assumeMemory(bytes);
    RankThreads.run(2, group -> StateTransfer.broadcast(new Marked(bytes), group, 0));
  }
}
