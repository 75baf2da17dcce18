// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static io.torchfeed.testing.LargeTensors.ABOVE_2_GIB;
import static io.torchfeed.testing.LargeTensors.ABOVE_4_GIB;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.averaging.FlatTensors;
import io.torchfeed.testing.LargeTensors;
import io.torchfeed.testing.RankThreads;
import java.util.HexFormat;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that the digest of parameters of 2 GiB and more covers all bytes. */
@Tag("large")
class LargeReplicaTest {
  private static void increment(Tensor tensor, long place) {
    BytePointer data = new BytePointer(tensor.data_ptr());
    data.put(place, (byte) (data.get(place) + 1));
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB, ABOVE_4_GIB})
  void theDigestOfAReplicaCoversAllBytes(long bytes) throws Exception {
    LargeTensors.assumeMemory(bytes);
    RankThreads.run(
        1,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            Module net = new Module();
            Tensor weight = LargeTensors.empty(ScalarType.Float, bytes);
            net.register_parameter("weight", weight);
            try (var model = DistributedDataParallel.wrap(net, group)) {
              String before = model.digest();
              increment(weight, bytes - 1);
              assertThat(model.digest()).isNotEqualTo(before);
            }
          }
        });
  }

  @Test
  void theDigestOfFlatTensorsCoversAllBytes() {
    LargeTensors.assumeMemory(ABOVE_2_GIB);
    Tensor weight = LargeTensors.empty(ScalarType.Byte, ABOVE_2_GIB);
    try (FlatTensors flat = new FlatTensors(new Tensor[] {weight})) {
      String before = HexFormat.of().formatHex(flat.digest());
      increment(flat.values(), ABOVE_2_GIB - 1);
      assertThat(HexFormat.of().formatHex(flat.digest())).isNotEqualTo(before);
    }
  }
}
