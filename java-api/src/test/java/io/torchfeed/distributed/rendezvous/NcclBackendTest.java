// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.bindings.torchfeed;
import java.time.Duration;
import org.bytedeco.pytorch.Store;
import org.junit.jupiter.api.Test;

class NcclBackendTest {
  @Test
  void missingLibrariesOfNcclAreReportedWithTheirRemedy() {
    assumeTrue(
        torchfeed.accelerator_name().getString().equals("none"),
        "this libtorch has an accelerator");
    assertThat(NcclBackend.missingLibrary())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageStartingWith("NCCL cannot be loaded (")
        .hasMessageContaining("org.bytedeco:cuda")
        .hasMessageContaining("libnccl.so.2");
  }

  @Test
  void anNcclOlderThanLibtorchsIsNamed() {
    assertThat(NcclBackend.tooOld(2_27_05))
        .hasMessageStartingWith("NCCL 2.27.5 is loaded")
        .hasMessageContaining("functions of 2.28");
    assertThat(NcclBackend.tooOld(2_28_00)).isNull();
    assertThat(NcclBackend.tooOld(0)).isNull();
  }

  @Test
  void aSharedStoreOutlivesTheConnectionAndHasItsPrefix() {
    StoreConnection connection = StoreConnection.alone(Duration.ofSeconds(60));
    Store shared = connection.handle().call(store -> OwnedStore.shared(store, "devices"));
    shared.set("key", "value");
    assertThat(connection.getText("devices/key")).isEqualTo("value");
    connection.release();
    assertThat(shared.add("number", 2)).isEqualTo(2);
    shared.close();
  }
}
