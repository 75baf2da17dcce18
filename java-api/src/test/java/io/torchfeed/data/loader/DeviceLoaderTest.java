// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.Dataset;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import io.torchfeed.testing.FakeDevice;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeviceLoaderTest {
  /** A dataset of which some samples cannot be created. */
  private record Broken(long size) implements Dataset {
    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      if (index % 10 == 5) {
        throw new IllegalArgumentException("no sample " + index);
      }
      sample.putLong(0, index);
    }
  }

  private static final List<IntFunction<RowData>> ENGINES =
      List.of(RowData::tensors, RowData::samples);

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void theCpuNeedsNoTransfer(int engine) {
    long pinned = Slab.pinnedBytes();
    try (RowData data = ENGINES.get(engine).apply(10);
        DataLoader loader = data.over().device("cpu").batchSize(5).build();
        Batches batches = loader.epoch(0)) {
      Rows.assertHolds(batches.next(), 0, 1, 2, 3, 4);
      assertThat(Slab.pinnedBytes()).isEqualTo(pinned);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aMissingDeviceIsReportedByBuild(int engine) {
    try (RowData data = ENGINES.get(engine).apply(10)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.over().device("gpu").build())
          .withMessageContaining("device must be a name like cuda:0, got 'gpu'");
      assertThatIllegalStateException()
          .isThrownBy(() -> data.over().device("cpu").device("cpu"))
          .withMessage("device was already set to cpu");
      assumeTrue(
          torchfeed.accelerator_name().getString().equals("none"),
          "this libtorch has an accelerator");
      assertThatIllegalStateException()
          .isThrownBy(() -> data.over().device("cuda:0").build())
          .withMessageContaining("device cuda:0: this libtorch has no cuda")
          .withMessageContaining("linux-x86_64-gpu");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void pinningWithoutAGpuIsRefusedByBuild(int engine) {
    assumeTrue(
        torchfeed.accelerator_name().getString().equals("none"),
        "this libtorch has an accelerator");
    try (RowData data = ENGINES.get(engine).apply(10)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> data.over().pinMemory().pinMemory())
          .withMessage("pinMemory was already called; call it once");
      assertThatIllegalStateException()
          .isThrownBy(() -> data.over().pinMemory().build())
          .withMessageStartingWith("pinMemory needs a GPU, since memory is page-locked for it");
    }
  }

  @Nested
  class OnAFakeDevice {
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void pinnedBatchesStayOnTheCpu(int engine) {
      FakeDevice.load();
      try (RowData data = ENGINES.get(engine).apply(40)) {
        try (DataLoader loader =
                data.over().pinMemory(FakeDevice.NAME).batchSize(2).workers(2).build();
            Batches batches = loader.epoch(0)) {
          for (long first = 0; first < 40; first += 2) {
            Batch batch = batches.next();
            assertThat(batch.tensor(0).device().is_cpu()).isTrue();
            Rows.assertHolds(batch, first, first + 1);
            assertThat(Slab.pinnedBytes()).isPositive();
          }
        }
        assertThat(Slab.pinnedBytes()).isZero();
        assertThatIllegalArgumentException()
            .isThrownBy(
                () -> data.over().pinMemory(FakeDevice.NAME).device(FakeDevice.NAME).build())
            .withMessageContaining("got device privateuseone:0, which pins by itself");
      }
    }

    private DataLoaderBuilder broken() {
      FakeDevice.load();
      return DataLoader.over(new Broken(20)).batchSize(4).device(FakeDevice.NAME);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void aFailingSampleIsDeliveredWithItsBatch(int workers) {
      try (DataLoader loader = broken().workers(workers).build();
          Batches batches = loader.epoch(0)) {
        for (int batch = 0; batch < 5; batch++) {
          if (batch == 1 || batch == 3) {
            long number = batch;
            assertThatThrownBy(batches::next)
                .isInstanceOfSatisfying(
                    SampleException.class, e -> assertThat(e.batch()).isEqualTo(number));
          } else {
            assertThat(Rows.longs(batches.next().tensor(0))[3]).isEqualTo(4 * batch + 3);
          }
        }
        assertThat(batches.hasNext()).isFalse();
      }
    }

    @Test
    void skippedSamplesAreLeftOut() {
      try (DataLoader loader = broken().onFailure(FailurePolicy.skipSample()).build();
          Batches batches = loader.epoch(0)) {
        batches.next();
        Batch batch = batches.next();
        assertThat(batch.indices()).containsExactly(4, 6, 7);
        assertThat(Rows.longs(batch.tensor(0))).containsExactly(4, 6, 7);
        assertThat(loader.stats().skippedSamples().get(0).index()).isEqualTo(5);
      }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void queuedWorkSeesItsOwnBatch(int engine) {
      FakeDevice.load();
      try (RowData data = ENGINES.get(engine).apply(1000);
          DataLoader loader = data.over().batchSize(4).workers(2).device(FakeDevice.NAME).build()) {
        for (long epoch = 0; epoch < 4; epoch++) {
          List<Tensor> computed = new ArrayList<>();
          try (Batches batches = loader.epoch(epoch)) {
            for (Batch batch : batches) {
              computed.add(batch.tensor(1).clone()); // queued without waiting
            }
          }
          for (int i = 0; i < computed.size(); i++) {
            assertThat(Rows.longs(computed.get(i)))
                .containsExactly(4L * i, 4L * i + 1, 4L * i + 2, 4L * i + 3);
            computed.get(i).close();
          }
        }
      }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void tenThousandBatchesKeepMemoryFlat(int engine) throws Exception {
      FakeDevice.load();
      keepsMemoryFlat(ENGINES.get(engine), FakeDevice.NAME, 10);
    }
  }

  /** Tests that are skipped if libtorch has no GPU. */
  @Nested
  @Tag("gpu")
  class OnAGpu {
    private String device() {
      assumeTrue(torchfeed.accelerator_count() > 0, "libtorch sees no accelerator device");
      return torchfeed.accelerator_name().getString() + ":0";
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void checksumsOnDeviceAndHostAreEqual(int engine) {
      String device = device();
      try (RowData data = ENGINES.get(engine).apply(4096);
          DataLoader loader = data.over().batchSize(64).workers(2).device(device).build()) {
        for (long epoch = 0; epoch < 20; epoch++) {
          List<Tensor> sums = new ArrayList<>();
          try (Batches batches = loader.epoch(epoch)) {
            for (Batch batch : batches) {
              sums.add(batch.tensor(1).sum());
            }
          }
          for (int i = 0; i < sums.size(); i++) {
            assertThat(sums.get(i).item_long()).isEqualTo(64L * 64 * i + 63 * 32);
            sums.get(i).close();
          }
        }
      }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aHundredThousandBatchesKeepMemoryFlat(int engine) throws Exception {
      keepsMemoryFlat(ENGINES.get(engine), device(), 100);
    }
  }

  /** Takes a thousand batches per epoch. */
  private static void keepsMemoryFlat(IntFunction<RowData> engine, String device, int epochs)
      throws Exception {
    try (RowData data = engine.apply(2000);
        DataLoader loader = data.over().batchSize(2).workers(1).device(device).build()) {
      take(loader, 2);
      long resident = residentKib();
      long pinned = Slab.pinnedBytes();
      take(loader, epochs);
      assertThat(Slab.pinnedBytes()).isLessThanOrEqualTo(pinned + 16 * 128);
      assertThat(residentKib() - resident).as("growth in KiB").isLessThan(64 << 10);
    }
  }

  private static void take(DataLoader loader, int epochs) {
    for (long epoch = 0; epoch < epochs; epoch++) {
      try (Batches batches = loader.epoch(epoch)) {
        while (batches.hasNext()) {
          assertThat(batches.next().size()).isEqualTo(2);
        }
      }
    }
  }

  private static long residentKib() throws Exception {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .sum();
  }
}
