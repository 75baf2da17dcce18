// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.Slab;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class NvJpegDecoderTest {
  private static final ImagePlan CROP =
      ImagePlan.builder().randomResizedCrop(32, 40).horizontalFlip(0.5).build();

  private static byte[] golden(String name) throws IOException {
    try (InputStream in = NvJpegDecoderTest.class.getResourceAsStream("/golden/images/" + name)) {
      return Objects.requireNonNull(in, name).readAllBytes();
    }
  }

  /** Returns true for a libtorch with CUDA, even if it sees no device. */
  private static boolean isForCuda() {
    return torchfeed.accelerator_name().getString().equals("cuda");
  }

  private static boolean hasGpu() {
    return isForCuda() && torchfeed.accelerator_count() > 0;
  }

  @Test
  void aDeviceOtherThanCudaIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> NvJpegDecoder.open("cpu"))
        .withMessage("device must be a CUDA device like cuda:0, got cpu");
  }

  @Test
  void aMissingDeviceIsReported() {
    assumeTrue(!hasGpu(), "libtorch sees a CUDA device");
    assertThatExceptionOfType(RuntimeException.class)
        .isThrownBy(() -> NvJpegDecoder.open("cuda:0"))
        .withMessageContaining(
            isForCuda() ? "libtorch sees no cuda device" : "this libtorch has no cuda");
  }

  @Test
  void aMissingLibraryIsReported() {
    assumeTrue(!isForCuda(), "this libtorch has an accelerator");
    assertThatIllegalStateException()
        .isThrownBy(() -> NvJpegDecoder.open("cpu", (device, work) -> 0))
        .withMessageContaining("nvJPEG cannot be loaded")
        .withMessageContaining("add org.bytedeco:cuda to the class path");
  }

  /** The tests that need a GPU. */
  @Nested
  @Tag("gpu")
  class OnAGpu {
    /** The mean difference of bytes that nvJPEG's own transform and colors may make. */
    private static final double MEAN_DIFFERENCE = 3;

    private NvJpegDecoder open() {
      assumeTrue(hasGpu(), "libtorch sees no CUDA device");
      return NvJpegDecoder.open("cuda:0");
    }

    private static byte[] bytes(Tensor tensor) {
      Tensor dense = tensor.cpu().contiguous();
      byte[] bytes = new byte[(int) dense.numel()];
      dense.data_ptr_byte().get(bytes);
      return bytes;
    }

    private static double meanDifference(byte[] first, byte[] second) {
      assertThat(first).hasSameSizeAs(second);
      double sum = 0;
      for (int i = 0; i < first.length; i++) {
        sum += Math.abs((first[i] & 0xff) - (second[i] & 0xff));
      }
      return sum / first.length;
    }

    /** The row that the CPU makes. */
    private static byte[] row(ImagePlan plan, byte[] encoded, long index) {
      try (Slab slab = Slab.allocate(List.of(plan.row()), 1)) {
        plan.write(encoded, slab, 0, 0, 7, 3, index);
        try (Tensor view = slab.view(0, 1)) {
          return bytes(view);
        }
      }
    }

    @Test
    void aWholeImageIsThatOfTheCpu() throws IOException {
      try (NvJpegDecoder decoder = open()) {
        for (String name : List.of("420.jpg", "422_progressive.jpg", "444_odd.jpg", "grey.jpg")) {
          byte[] encoded = golden(name);
          Tensor pixels = decoder.decode(encoded);
          assertThat(pixels.is_cuda()).isTrue();
          ImagePlan whole =
              ImagePlan.builder().resize((int) pixels.size(1), (int) pixels.size(2)).build();
          assertThat(meanDifference(bytes(pixels), row(whole, encoded, 0)))
              .as(name)
              .isLessThan(MEAN_DIFFERENCE);
        }
      }
    }

    @Test
    void aBatchHasTheCropsOfTheCpu() throws IOException {
      try (NvJpegDecoder decoder = open()) {
        List<byte[]> images = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
          images.add(golden(i % 2 == 0 ? "420.jpg" : "wide.jpg"));
        }
        long[] indices = LongStream.range(100, 116).toArray();
        Tensor batch = decoder.decode(images, CROP, 7, 3, indices);
        assertThat(batch.sizes().vec().get()).containsExactly(16, 3, 32, 40);
        for (int i = 0; i < 16; i++) {
          assertThat(meanDifference(bytes(batch.get(i)), row(CROP, images.get(i), indices[i])))
              .isLessThan(MEAN_DIFFERENCE);
        }
      }
    }

    @Test
    void aPlanNormalizes() throws IOException {
      try (NvJpegDecoder decoder = open()) {
        ImagePlan plan =
            ImagePlan.builder()
                .resize(8, 8)
                .normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
                .build();
        Tensor batch = decoder.decode(List.of(golden("420.jpg")), plan, 0, 0, new long[1]);
        assertThat(batch.scalar_type().intern()).isEqualTo(ScalarType.Float);
        assertThat(plan.row().dtype()).isEqualTo(DType.FLOAT32);
      }
    }

    @Test
    void misuseIsReported() throws IOException {
      byte[] good = golden("420.jpg");
      NvJpegDecoder decoder = open();
      assertThatExceptionOfType(ImageException.class)
          .isThrownBy(() -> decoder.decode(golden("rgb.png")));
      assertThatExceptionOfType(ImageException.class).isThrownBy(() -> decoder.decode(new byte[0]));
      assertThatExceptionOfType(ImageException.class)
          .isThrownBy(
              () -> decoder.decode(List.of(good, new byte[9]), CROP, 0, 0, new long[] {4, 5}))
          .withMessageStartingWith("image 1 (index 5): ");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> decoder.decode(List.of(good), CROP, 0, 0, new long[2]));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> decoder.decode(List.of(), CROP, 0, 0, new long[0]));
      ImagePlan colors = ImagePlan.builder().resize(8, 8).randAugment(2, 9).build();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> decoder.decode(List.of(good), colors, 0, 0, new long[1]))
          .withMessageContaining("changes colors, blurs or erases");
      decoder.close();
      decoder.close();
      assertThatIllegalStateException()
          .isThrownBy(() -> decoder.decode(good))
          .withMessage("NvJpegDecoder is closed");
    }
  }
}
