// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.FakeDevice;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of loaders whose batches the device gathers. */
class DeviceGatherTest {
  private static final int ROWS = 100;
  private static final int WIDTH = 300; // more than 1 KiB: the device reads these rows

  /** Returns rows of which each element is the number of the row, and their numbers. */
  private static TensorDataset data() {
    try (PointerScope scope = new PointerScope()) {
      Tensor numbers = torch.arange(new Scalar(ROWS), new TensorOptions(ScalarType.Long));
      Tensor wide = numbers.to(ScalarType.Float).unsqueeze(1).repeat(1, WIDTH);
      return TensorDataset.of(wide, numbers);
    }
  }

  private static DataLoaderBuilder over(TensorDataset data, String device) {
    return DataLoader.over(data)
        .batchSize(7)
        .sampler(ShuffledSampler.of(ROWS, 3))
        .device(device)
        .gatherOnDevice();
  }

  /** Returns the numbers of the rows of an epoch, in order. */
  private static List<Long> epoch(DataLoader loader, long epoch) {
    List<Long> numbers = new ArrayList<>();
    try (Batches batches = loader.epoch(epoch)) {
      for (Batch batch : batches) {
        try (PointerScope scope = new PointerScope()) {
          Tensor wide = batch.tensor(0).cpu();
          Tensor rows = batch.tensor(1).cpu();
          assertThat(wide.sizes().vec().get()).containsExactly(batch.size(), WIDTH);
          for (int i = 0; i < batch.size(); i++) {
            long number = rows.get(i).item_long();
            assertThat(wide.get(i).eq(new Scalar((double) number)).all().item_bool()).isTrue();
            numbers.add(number);
          }
        }
      }
    }
    return numbers;
  }

  private static void assertEpochsAreThoseOfTheCpu(String device) {
    try (TensorDataset data = data();
        DataLoader loader = over(data, device).build();
        DataLoader host =
            DataLoader.over(data)
                .batchSize(7)
                .workers(0)
                .sampler(ShuffledSampler.of(ROWS, 3))
                .build()) {
      for (long epoch = 0; epoch < 3; epoch++) {
        assertThat(epoch(loader, epoch)).isEqualTo(epoch(host, epoch));
      }
      assertThat(loader.stats().rows()).isEqualTo(3 * ROWS);
      assertThat(loader.stats().transferring()).isPositive();
    }
  }

  @Test
  void theDeviceGathersTheBatchesOfTheCpu() {
    FakeDevice.load();
    assertEpochsAreThoseOfTheCpu(FakeDevice.NAME);
  }

  @Test
  void aPassThatIsLeftEarlyIsFollowedByAWholeOne() {
    FakeDevice.load();
    try (TensorDataset data = data();
        DataLoader loader = over(data, FakeDevice.NAME).build()) {
      for (int left = 0; left < 5; left++) {
        try (Batches batches = loader.epoch(0)) {
          for (int i = 0; i < left; i++) {
            assertThat(batches.next().size()).isEqualTo(7);
          }
        }
      }
      assertThat(epoch(loader, 0)).hasSize(ROWS).doesNotHaveDuplicates();
    }
  }

  @Test
  void theRowsOutliveTheirDataset() {
    FakeDevice.load();
    TensorDataset data = data();
    try (DataLoader loader = over(data, FakeDevice.NAME).build()) {
      data.close();
      assertThat(epoch(loader, 1)).hasSize(ROWS).doesNotHaveDuplicates();
    }
  }

  @Test
  void aStateResumesTheSameBatches() {
    FakeDevice.load();
    try (TensorDataset data = data();
        DataLoader loader = over(data, FakeDevice.NAME).build()) {
      List<Long> all = epoch(loader, 2);
      LoaderState state;
      try (Batches batches = loader.epoch(2)) {
        batches.next();
        batches.next();
        state = batches.state();
      }
      List<Long> rest = new ArrayList<>();
      try (Batches batches = loader.resume(state)) {
        for (Batch batch : batches) {
          try (Tensor rows = batch.tensor(1).cpu()) {
            for (int i = 0; i < batch.size(); i++) {
              rest.add(rows.data_ptr_long().get(i));
            }
          }
        }
      }
      assertThat(rest).isEqualTo(all.subList(14, ROWS));
    }
  }

  @Test
  void otherDataAndOptionsOfWorkersAreRefused() {
    FakeDevice.load();
    try (TensorDataset data = data();
        NativeDataset subset = data.subset(1, 2)) {
      assertThatIllegalArgumentException()
          .isThrownBy(
              () -> DataLoader.over(subset).device(FakeDevice.NAME).gatherOnDevice().build())
          .withMessageContaining("gathers only rows of tensors in memory");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DataLoader.over(data).gatherOnDevice().build())
          .withMessageContaining("a device like cuda:0, got device cpu");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> over(data, FakeDevice.NAME).workers(2).build())
          .withMessageContaining("gatherOnDevice has no workers: leave out workers");
      assertThatIllegalArgumentException()
          .isThrownBy(
              () ->
                  DataLoader.over(new RowData.Samples(5))
                      .device(FakeDevice.NAME)
                      .gatherOnDevice()
                      .build())
          .withMessageContaining("is for tensors in memory");
      assertThatIllegalStateException()
          .isThrownBy(() -> DataLoader.over(data).gatherOnDevice().gatherOnDevice())
          .withMessage("gatherOnDevice was already set to true");
    }
  }

  /** The tests that need a GPU. */
  @Nested
  @Tag("gpu")
  class OnAGpu {
    @Test
    void theGpuGathersTheBatchesOfTheCpu() {
      assumeTrue(
          torchfeed.accelerator_name().getString().equals("cuda")
              && torchfeed.accelerator_count() > 0,
          "libtorch sees no CUDA device");
      assertEpochsAreThoseOfTheCpu("cuda:0");
    }
  }
}
