// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static io.torchfeed.testing.LargeTensors.ABOVE_2_GIB;
import static io.torchfeed.testing.LargeTensors.ABOVE_4_GIB;

import io.torchfeed.testing.LargeTensors;
import io.torchfeed.testing.RankThreads;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that tensors of 2 GiB and more arrive as a whole. */
@Tag("large")
class LargeCollectivesTest {
  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB, ABOVE_4_GIB})
  void aBroadcastBringsAllBytes(long bytes) throws Exception {
    LargeTensors.assumeMemory(bytes);
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            boolean isRoot = group.rank() == 0;
            Tensor tensor =
                isRoot ? LargeTensors.marked(bytes) : LargeTensors.empty(ScalarType.Byte, bytes);
            group.broadcast(tensor, 0);
            LargeTensors.assertMarked(tensor);
          }
        });
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB, ABOVE_4_GIB})
  void anAllReduceAddsAllBytes(long bytes) throws Exception {
    LargeTensors.assumeMemory(2 * bytes);
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Tensor tensor = LargeTensors.marked(bytes);
            group.allReduce(tensor, ReduceOp.SUM);
            LargeTensors.assertMarked(tensor, 2);
          }
        });
  }
}
