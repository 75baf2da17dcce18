// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.sampler.Part;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.pytorch.Store;
import org.junit.jupiter.api.Test;

class NcclBackendTest {
  private static final long SECOND = 1_000_000_000;

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
  void aRankThatIsLostWhileTheDevicesConnectIsNamed() {
    StoreConnection connection = StoreConnection.alone(Duration.ofSeconds(60));
    NcclBackend backend =
        new NcclBackend(connection, "devices", new Part(4, 1), Duration.ofMinutes(30));
    AtomicInteger lost = new AtomicInteger(-1);
    AtomicLong clock = new AtomicLong();
    Runnable requireRanks = backend.requireRanks(rank -> rank == lost.get(), clock::get);
    clock.addAndGet(SECOND);
    requireRanks.run();
    lost.set(2);
    clock.addAndGet(SECOND / 2); // it may have connected, and left
    requireRanks.run();
    clock.addAndGet(SECOND);
    assertThatExceptionOfType(PeerLostException.class)
        .isThrownBy(requireRanks::run)
        .withMessageContaining("the devices of the ranks do not connect")
        .satisfies(e -> assertThat(e.rank()).hasValue(2));
    connection.release();
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
