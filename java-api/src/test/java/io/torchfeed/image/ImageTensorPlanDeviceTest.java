// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static io.torchfeed.image.TestImages.ALL;
import static io.torchfeed.image.TestImages.PLAIN;
import static io.torchfeed.image.TestImages.TOLERANCE;
import static io.torchfeed.image.TestImages.difference;
import static io.torchfeed.image.TestImages.images;
import static io.torchfeed.image.TestImages.range;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.FakeDevice;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Batches that a loader delivers on a device equal those on the host. */
class ImageTensorPlanDeviceTest {
  /** Returns the results of an epoch by index. */
  private static Map<Long, Tensor> epoch(TensorDataset data, int batchSize, String device) {
    Map<Long, Tensor> results = new HashMap<>();
    DataLoaderBuilder builder =
        DataLoader.over(data)
            .sampler(ShuffledSampler.of(data.size(), 7))
            .batchSize(batchSize)
            .workers(2)
            .device(device);
    List<Tensor> made = new ArrayList<>();
    List<long[]> indices = new ArrayList<>();
    try (DataLoader loader = builder.build();
        var batches = loader.epoch(3)) {
      for (Batch batch : batches) {
        made.add(ALL.apply(batch.tensor(0), 5, 3, batch.indices()));
        indices.add(batch.indices());
      }
    }
    for (int i = 0; i < made.size(); i++) {
      assertThat(made.get(i).device().str().getString()).isEqualTo(device);
      for (int row = 0; row < indices.get(i).length; row++) {
        results.put(indices.get(i)[row], made.get(i).select(0, row).cpu());
      }
    }
    return results;
  }

  private static void batchesOnADeviceEqualThoseOnTheHost(String device, int batchSize) {
    int count = 40;
    try (TensorDataset data = TensorDataset.of(images(count))) {
      Map<Long, Tensor> expected = epoch(data, 5, "cpu");
      Map<Long, Tensor> made = epoch(data, batchSize, device);
      assertThat(made).hasSize(count).hasSameSizeAs(expected);
      Set<Long> changed = new HashSet<>();
      Tensor plain = PLAIN.apply(images(count));
      expected.forEach(
          (index, image) -> {
            assertThat(difference(requireNonNull(made.get(index)), image)).isLessThan(TOLERANCE);
            if (difference(plain.select(0, index), image) > 0.1) {
              changed.add(index);
            }
          });
      assertThat(changed).hasSizeGreaterThan(count / 2);
    }
  }

  @Test
  void largerBatchesGiveTheSameImages() {
    batchesOnADeviceEqualThoseOnTheHost("cpu", 8);
  }

  @Nested
  class OnAFakeDevice {
    @Test
    void transferredBatchesEqualThoseOnTheHost() {
      FakeDevice.load();
      batchesOnADeviceEqualThoseOnTheHost(FakeDevice.NAME, 8);
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

    @Test
    void transferredBatchesEqualThoseOnTheHost() {
      batchesOnADeviceEqualThoseOnTheHost(device(), 8);
    }

    @Test
    void normalizedBitsEqualThoseOfTheHost() {
      Device device = new Device(device());
      Tensor images = images(8);
      Tensor there = PLAIN.apply(images.to(device, ScalarType.Byte));
      assertThat(there.cpu().equal(PLAIN.apply(images))).isTrue();
    }

    @Test
    void queuedWorkUsesItsOwnDraws() {
      Device device = new Device(device());
      Tensor images = images(8).to(device, ScalarType.Byte);
      List<Tensor> queued = new ArrayList<>();
      for (int epoch = 0; epoch < 200; epoch++) {
        queued.add(ALL.apply(images, 1, epoch, range(8)));
      }
      for (int epoch = 0; epoch < 200; epoch++) {
        assertThat(difference(queued.get(epoch), ALL.apply(images(8), 1, epoch, range(8))))
            .isLessThan(TOLERANCE);
      }
    }
  }
}
