// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.testing.FakeDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class DeviceTransferTest {
  private static final List<RowSpec> LONGS = List.of(RowSpec.of(DType.INT64));

  private static long[] longs(Tensor tensor) {
    long[] values = new long[(int) tensor.numel()];
    try (Tensor here = tensor.cpu()) {
      here.data_ptr_long().get(values);
    }
    return values;
  }

  @Nested
  class OnAFakeDevice {
    @BeforeEach
    void load() {
      FakeDevice.load();
    }

    @Test
    void sentTensorsArrive() {
      try (DeviceTransfer transfer = DeviceTransfer.to(FakeDevice.NAME);
          Tensor first = Tensor.create(new long[] {1, 2, 3});
          Tensor second = Tensor.create(new float[] {4, 5, 6, 7}, 2, 2);
          DeviceBatch batch = transfer.send(first, second)) {
        assertThat(transfer.device()).isEqualTo(FakeDevice.NAME);
        assertThat(batch.tensors()).hasSize(2).isSameAs(batch.tensors());
        assertThat(longs(batch.tensors().get(0))).containsExactly(1, 2, 3);
        Tensor floats = batch.tensors().get(1);
        assertThat(floats.device().str().getString()).isEqualTo(FakeDevice.NAME);
        assertThat(floats.sizes().vec().get()).containsExactly(2, 2);
        assertThat(floats.cpu().get(1).get(1).item_float()).isEqualTo(7);
      }
    }

    @Test
    void aSlabIsFreeOnceItsCopyHasFinished() {
      try (DeviceTransfer transfer = DeviceTransfer.to(FakeDevice.NAME);
          Slab slab = Slab.allocatePinned(LONGS, 4, FakeDevice.NAME)) {
        assertThat(slab.isPinned()).isTrue();
        slab.put(0, 0, new long[] {5, 6, 7, 8}, 0, 4);
        try (DeviceBatch batch = transfer.send(slab, 3)) {
          assertThat(longs(batch.tensors().get(0))).containsExactly(5, 6, 7);
          assertThat(transfer.copying()).isZero();
          assertThat(slab.isFree()).isTrue();
        }
      }
    }

    @Test
    void queuedWorkSeesItsOwnBatch() {
      List<Tensor> computed = new ArrayList<>();
      List<Slab> slabs = new ArrayList<>();
      try (DeviceTransfer transfer = DeviceTransfer.to(FakeDevice.NAME)) {
        DeviceBatch ahead = send(transfer, slabs, 0);
        for (int i = 1; i <= 1000; i++) {
          try (DeviceBatch batch = ahead) {
            computed.add(batch.tensors().get(0).clone()); // queued without waiting
            ahead = send(transfer, slabs, i);
          }
        }
        ahead.close();
      }
      for (int i = 0; i < computed.size(); i++) {
        assertThat(longs(computed.get(i))).containsExactly(i, i + 1);
      }
      assertThat(slabs).hasSizeLessThan(6);
      slabs.forEach(Slab::close);
    }

    private static DeviceBatch send(DeviceTransfer transfer, List<Slab> slabs, int number) {
      Slab slab = slabs.stream().filter(Slab::isFree).findFirst().orElse(null);
      if (slab == null) {
        slab = Slab.allocatePinned(LONGS, 2, FakeDevice.NAME);
        slabs.add(slab);
      }
      slab.put(0, 0, new long[] {number, number + 1}, 0, 2);
      return transfer.send(slab, 2);
    }

    @Test
    void aKeptTensorIsNotOverwritten() {
      List<Tensor> kept = new ArrayList<>();
      try (DeviceTransfer transfer = DeviceTransfer.to(FakeDevice.NAME, 3)) {
        for (long i = 0; i < 20; i++) {
          try (DeviceBatch batch = transfer.send(Tensor.create(i, -i))) {
            kept.add(new Tensor(batch.tensors().get(0)));
          }
        }
      }
      for (int i = 0; i < kept.size(); i++) {
        assertThat(longs(kept.get(i))).containsExactly(i, -i);
      }
    }

    @Test
    void devicesWorkConcurrently() {
      try (DeviceTransfer one = DeviceTransfer.to(FakeDevice.NAME);
          DeviceTransfer other = DeviceTransfer.to(FakeDevice.OTHER);
          DeviceBatch here = one.send(Tensor.create(1L, 2L));
          DeviceBatch there = other.send(Tensor.create(3L, 4L))) {
        assertThat(there.tensors().get(0).device().index()).isEqualTo((byte) 1);
        assertThat(longs(there.tensors().get(0))).containsExactly(3, 4);
        assertThat(longs(here.tensors().get(0))).containsExactly(1, 2);
      }
    }

    @Test
    void openBatchesAreLimited() {
      try (DeviceTransfer transfer = DeviceTransfer.to(FakeDevice.NAME);
          Tensor host = Tensor.create(1L);
          DeviceBatch first = transfer.send(host);
          DeviceBatch second = transfer.send(host)) {
        assertThatIllegalStateException()
            .isThrownBy(() -> transfer.send(host))
            .withMessageContaining("all 2 slots of the transfer are in use: close a batch first");
        first.close();
        transfer.send(host).close();
        assertThat(longs(second.tensors().get(0))).containsExactly(1);
      }
    }

    @Test
    void closingIsSilentAndEndsUse() {
      DeviceTransfer transfer = DeviceTransfer.to(FakeDevice.NAME);
      DeviceBatch received = transfer.send(Tensor.create(1L));
      DeviceBatch sent = transfer.send(Tensor.create(2L));
      Tensor tensor = new Tensor(received.tensors().get(0));
      transfer.close();
      transfer.close();
      assertThat(longs(received.tensors().get(0))).containsExactly(1);
      assertThatIllegalStateException()
          .isThrownBy(sent::tensors)
          .withMessage("DeviceTransfer is closed");
      assertThatIllegalStateException().isThrownBy(transfer::copying);
      received.close();
      received.close();
      sent.close();
      assertThatIllegalStateException()
          .isThrownBy(received::tensors)
          .withMessage("DeviceBatch is closed");
      assertThat(longs(tensor)).containsExactly(1);
    }

    @Test
    void closingFromAnotherThreadEndsTheSender() throws Exception {
      Tensor host = Tensor.create(new long[64]);
      for (int round = 0; round < 100; round++) {
        DeviceTransfer transfer = DeviceTransfer.to(FakeDevice.NAME);
        CountDownLatch sending = new CountDownLatch(1 + round % 7);
        AtomicReference<Throwable> end = new AtomicReference<>();
        Thread sender =
            new Thread(
                () -> {
                  try {
                    while (true) {
                      transfer.send(host).close();
                      sending.countDown();
                    }
                  } catch (Throwable e) {
                    end.set(e);
                  }
                });
        sender.start();
        sending.await();
        transfer.close();
        sender.join();
        assertThat(end.get()).isInstanceOf(IllegalStateException.class);
      }
    }

    @Test
    void pinnedBytesCountSlabsAndTheirViews() {
      long before = Slab.pinnedBytes();
      Slab slab = Slab.allocatePinned(List.of(RowSpec.of(DType.UINT8, 1000)), 10, FakeDevice.NAME);
      Tensor view = slab.view(0, 1);
      slab.close();
      assertThat(Slab.pinnedBytes() - before).isEqualTo(10048);
      view.close();
      assertThat(Slab.pinnedBytes()).isEqualTo(before);
    }

    @Test
    void unsupportedTensorsAreRefused() {
      try (DeviceTransfer transfer = DeviceTransfer.to(FakeDevice.NAME);
          DeviceBatch batch = transfer.send(Tensor.create(1L));
          Slab slab = Slab.allocate(LONGS, 2)) {
        assertThatIllegalArgumentException().isThrownBy(transfer::send);
        assertThatIllegalArgumentException()
            .isThrownBy(() -> transfer.send(batch.tensors().get(0)))
            .withMessageContaining("tensor 0 must be a dense CPU tensor");
        assertThatIllegalArgumentException().isThrownBy(() -> transfer.send(new Tensor()));
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
            .isThrownBy(() -> transfer.send(slab, 3));
      }
    }
  }

  @Nested
  class WithoutADevice {
    @Test
    void invalidDeviceNamesAreRefused() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DeviceTransfer.to("gpu0"))
          .withMessageContaining("device must be a name like cuda:0, got 'gpu0'");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DeviceTransfer.to("cpu"))
          .withMessageContaining("host tensors need no transfer");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DeviceTransfer.to("cuda:0", 1))
          .withMessage("slots must be in [2, 1024], got 1");
    }

    @Test
    void aMissingGpuIsReportedWithItsRemedy() {
      assumeTrue(
          torchfeed.accelerator_name().getString().equals("none"),
          "this libtorch has an accelerator");
      assertThatIllegalStateException()
          .isThrownBy(() -> DeviceTransfer.to("cuda:0"))
          .withMessageStartingWith("device cuda:0: this libtorch has no cuda; ")
          .withMessageContaining("linux-x86_64-gpu");
      assertThatIllegalStateException()
          .isThrownBy(() -> Slab.allocatePinned(LONGS, 1, "cuda:0"))
          .withMessageContaining("linux-x86_64-gpu");
    }
  }
}
