// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.Slab;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class NvJpegDecoderTest {
  private static final ImagePlan CROP =
      ImagePlan.builder().randomResizedCrop(32, 40).horizontalFlip(0.5).build();

  static byte[] golden(String name) {
    try (InputStream in = NvJpegDecoderTest.class.getResourceAsStream("/golden/images/" + name)) {
      return Objects.requireNonNull(in, name).readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
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
        .isThrownBy(() -> NvJpegDecoder.open("cpu", own -> NvJpeg.open(own, (device, work) -> 0)))
        .withMessageContaining("nvJPEG cannot be loaded")
        .withMessageContaining("add org.bytedeco:cuda to the class path");
  }

  @Test
  void theHandleOfAStreamIsThatOfNvJpeg() throws Exception {
    assertThat(NvJpeg.handles().getReturnType().getName())
        .isEqualTo("org.bytedeco.cuda.cudart.CUstream_st");
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
    void aWholeImageIsThatOfTheCpu() {
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
    void aBatchHasTheCropsOfTheCpu() {
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

    /** Also prints how far the pixels are from the ones of the CPU, for a report. */
    @Test
    void mixedBatchesOfMoreThan64ImagesHaveTheCropsOfTheCpu() {
      List<String> kinds =
          List.of(
              "420.jpg",
              "422.jpg",
              "444.jpg",
              "wide.jpg",
              "420_progressive.jpg",
              "grey.jpg",
              "rgb.png",
              "cmyk.jpg",
              "lossy.webp",
              "444_odd.jpg");
      int count = 300;
      List<byte[]> images = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        images.add(golden(kinds.get(i % kinds.size())));
      }
      long[] indices = LongStream.range(0, count).toArray();
      try (NvJpegDecoder decoder = open()) {
        Tensor batch = decoder.decode(images, CROP, 7, 3, indices);
        Map<String, int[]> differences = new TreeMap<>();
        for (int i = 0; i < count; i++) {
          byte[] made = bytes(batch.get(i));
          byte[] expected = row(CROP, images.get(i), indices[i]);
          int[] counts =
              differences.computeIfAbsent(kinds.get(i % kinds.size()), kind -> new int[256]);
          for (int k = 0; k < made.length; k++) {
            counts[Math.abs((made[k] & 0xff) - (expected[k] & 0xff))]++;
          }
        }
        differences.forEach((kind, counts) -> System.out.println(kind + ": " + quantiles(counts)));
        System.out.println(decoder.counts());
        assertThat(decoder.counts().onCpu()).isEqualTo(90);
        assertThat(decoder.counts().byEngines() + decoder.counts().oneByOne()).isEqualTo(210);
        Set<String> onCpu = Set.of("rgb.png", "cmyk.jpg", "lossy.webp");
        differences.forEach(
            (kind, counts) -> {
              assertThat(mean(counts)).as(kind).isLessThan(MEAN_DIFFERENCE);
              if (onCpu.contains(kind)) {
                assertThat(quantile(counts, 1)).as(kind).isZero();
              }
            });
      }
    }

    private static String quantiles(int[] counts) {
      return "difference to the CPU in levels: mean %.3f, median %d, 90 %% %d, 99 %% %d, largest %d"
          .formatted(
              mean(counts),
              quantile(counts, 0.5),
              quantile(counts, 0.9),
              quantile(counts, 0.99),
              quantile(counts, 1));
    }

    private static double mean(int[] counts) {
      double sum = 0;
      for (int level = 0; level < counts.length; level++) {
        sum += (double) level * counts[level];
      }
      return sum / Arrays.stream(counts).sum();
    }

    private static int quantile(int[] counts, double share) {
      double left = share * Arrays.stream(counts).sum();
      int level = 0;
      while (left > counts[level]) {
        left -= counts[level++];
      }
      return level;
    }

    @Test
    void aLoaderDecodesAheadInStreamsOfItsOwn() {
      List<byte[]> images = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        images.add(golden(i % 3 == 0 ? "420.jpg" : i % 3 == 1 ? "wide.jpg" : "rgb.png"));
      }
      try (NvJpegDecoder decoder = open();
          DataLoader loader =
              DataLoader.over(new MixedImagesTest.Encoded(images))
                  .batchSize(70)
                  .workers(2)
                  .seed(7)
                  .device("cuda:0")
                  .afterTransfer(Batch.Step.decode(0, 2, decoder, CROP))
                  .build()) {
        for (long epoch = 0; epoch < 20; epoch++) {
          List<Tensor> copies = new ArrayList<>();
          try (Batches batches = loader.epoch(3)) {
            for (Batch batch : batches) {
              copies.add(batch.tensor(0).clone()); // enqueued without waiting
            }
          }
          long index = 0;
          for (Tensor copy : copies) {
            for (long i = 0; i < copy.size(0); i++, index++) {
              assertThat(
                      meanDifference(bytes(copy.get(i)), row(CROP, images.get((int) index), index)))
                  .isLessThan(MEAN_DIFFERENCE);
            }
          }
          assertThat(index).isEqualTo(200);
        }
      }
    }

    @Test
    void aPlanNormalizes() {
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
    void misuseIsReported() {
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
