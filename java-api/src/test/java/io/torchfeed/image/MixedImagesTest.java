// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.VariableLength;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import io.torchfeed.testing.FakeDevice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Tests of batches of which nvJPEG, here replaced, refuses some images. */
class MixedImagesTest {
  private static final List<String> BY_ENGINES = List.of("420.jpg", "422_odd.jpg", "wide.jpg");
  private static final List<String> ALONE = List.of("grey.jpg", "420_progressive.jpg");
  private static final List<String> ON_CPU = List.of("rgb.png", "cmyk.jpg", "lossy.webp");
  private static final ImagePlan CROP =
      ImagePlan.builder().randomResizedCrop(20, 24).horizontalFlip(0.5).verticalFlip(0.5).build();
  private static final ImagePlan NORMALIZED =
      ImagePlan.builder()
          .randomResizedCrop(20, 24)
          .horizontalFlip(0.5)
          .verticalFlip(0.5)
          .normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
          .build();

  private final List<CpuImages> opened = new ArrayList<>();

  private NvJpegDecoder decoder(String device) {
    return NvJpegDecoder.open(
        device,
        own -> {
          CpuImages images = new CpuImages(own);
          opened.add(images);
          return images;
        });
  }

  private static List<String> names(int count) {
    List<String> kinds = new ArrayList<>(BY_ENGINES);
    kinds.addAll(ALONE);
    kinds.addAll(ON_CPU);
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      names.add(kinds.get(i * 5 % kinds.size()));
    }
    return names;
  }

  private static List<byte[]> files(List<String> names) {
    return names.stream().map(NvJpegDecoderTest::golden).toList();
  }

  private static float[] floats(Tensor tensor) {
    return TestImages.floats(tensor);
  }

  /** The row that the CPU makes. */
  private static float[] row(ImagePlan plan, byte[] encoded, long seed, long epoch, long index) {
    try (Slab slab = Slab.allocate(List.of(plan.row()), 1)) {
      plan.write(encoded, slab, 0, 0, seed, epoch, index);
      try (Tensor view = slab.view(0, 1)) {
        return floats(view);
      }
    }
  }

  private static double difference(float[] first, float[] second) {
    assertThat(first).hasSameSizeAs(second);
    double most = 0;
    for (int i = 0; i < first.length; i++) {
      most = Math.max(most, Math.abs(first[i] - second[i]));
    }
    return most;
  }

  @Test
  void aMixedBatchOfMoreThan64ImagesHasTheRowsOfTheCpuInTheirOrder() {
    List<String> names = names(150);
    List<byte[]> images = files(names);
    long[] indices = LongStream.range(1000, 1150).toArray();
    try (NvJpegDecoder decoder = decoder("cpu")) {
      for (ImagePlan plan : List.of(CROP, NORMALIZED)) {
        Tensor batch = decoder.decode(images, plan, 7, 3, indices);
        assertThat(batch.sizes().vec().get()).containsExactly(150, 3, 20, 24);
        double level = plan == CROP ? 1 : 1 / 255. / 0.224;
        for (int i = 0; i < 150; i++) {
          float[] expected = row(plan, images.get(i), 7, 3, indices[i]);
          assertThat(difference(floats(batch.get(i)), expected))
              .as("%d: %s", i, names.get(i))
              // libtorch does not round between the axes, so some differ by one level
              .isLessThanOrEqualTo(ON_CPU.contains(names.get(i)) ? 0 : level * 1.001);
        }
      }
      assertThat(decoder.counts())
          .isEqualTo(
              new NvJpegDecoder.Counts(
                  2L * count(names, BY_ENGINES),
                  2L * count(names, ALONE),
                  2L * count(names, ON_CPU)));
      assertThat(opened.get(0).together).containsExactly(64, 64, 22, 64, 64, 22);
      assertThat(decoder.device()).isEqualTo("cpu");
    }
    assertThat(opened.get(0).isClosed()).isTrue();
  }

  private static int count(List<String> names, List<String> kinds) {
    return kinds.stream().mapToInt(kind -> Collections.frequency(names, kind)).sum();
  }

  @Test
  void imagesAreTurnedAsTheirFilesSay() {
    ImagePlan plan = ImagePlan.builder().exifOrientation().centerCrop(16, 24).build();
    List<byte[]> images = files(List.of("exif_6.jpg", "exif_6.png", "exif_3.jpg"));
    try (NvJpegDecoder decoder = decoder("cpu")) {
      Tensor batch = decoder.decode(images, plan, 0, 0, new long[3]);
      for (int i = 0; i < 3; i++) {
        assertThat(floats(batch.get(i))).isEqualTo(row(plan, images.get(i), 0, 0, 0));
      }
    }
  }

  @Test
  void anImageThatNeitherReadsIsNamed() {
    List<byte[]> images = new ArrayList<>(files(names(70)));
    images.set(67, Arrays.copyOf(images.get(67), 20));
    long[] indices = LongStream.range(100, 170).toArray();
    try (NvJpegDecoder decoder = decoder("cpu")) {
      assertThatExceptionOfType(ImageException.class)
          .isThrownBy(() -> decoder.decode(images, CROP, 0, 0, indices))
          .withMessageStartingWith("image 67 (index 167): ")
          .satisfies(e -> assertThat(e.getSuppressed()[0]).hasMessage("refused"));
    }
  }

  @Test
  void noImagesAreAnEmptyBatch() {
    try (NvJpegDecoder decoder = decoder("cpu")) {
      assertThat(decoder.decode(List.of(), CROP, 0, 0, new long[0]).sizes().vec().get())
          .containsExactly(0, 3, 20, 24);
    }
  }

  /** Returns a decoder whose device fails. */
  private static NvJpegDecoder failing() {
    return NvJpegDecoder.open(
        "cpu",
        device ->
            new WholeImages() {
              @Override
              public Tensor decode(byte[] encoded, long maxPixels) {
                throw new IllegalStateException("the device failed");
              }

              @Override
              public @Nullable Tensor[] decodeTogether(List<byte[]> images, long maxPixels) {
                return new @Nullable Tensor[images.size()];
              }

              @Override
              public void close() {}
            });
  }

  @Test
  void aFailureOfTheDeviceIsNotHiddenByTheCpu() {
    try (NvJpegDecoder decoder = failing()) {
      assertThatIllegalStateException()
          .isThrownBy(() -> decoder.decode(files(names(3)), CROP, 0, 0, new long[3]))
          .withMessage("the device failed");
      assertThat(decoder.counts()).isEqualTo(new NvJpegDecoder.Counts(0, 0, 0));
    }
  }

  @Test
  void aClosedDecoderIsReported() {
    NvJpegDecoder decoder = decoder("cpu");
    decoder.close();
    decoder.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> decoder.decode(files(names(1)), CROP, 0, 0, new long[1]))
        .withMessage("NvJpegDecoder is closed");
  }

  /** Encoded images of all kinds, and their numbers. */
  record Encoded(List<byte[]> images) implements Dataset {
    @Override
    public long size() {
      return images.size();
    }

    @Override
    public List<RowSpec> columns() {
      int longest = images.stream().mapToInt(image -> image.length).max().orElseThrow();
      return List.of(RowSpec.of(DType.UINT8, longest), RowSpec.of(DType.INT64));
    }

    @Override
    public List<VariableLength> variableLengths() {
      return List.of(VariableLength.packed(0));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.put(0, images.get((int) index));
      sample.putLong(1, index);
    }
  }

  @Test
  void aLoaderDeliversMixedImagesOnTheDevice() {
    FakeDevice.load();
    Encoded data = new Encoded(files(names(170)));
    try (NvJpegDecoder decoder = decoder(FakeDevice.NAME)) {
      DataLoaderBuilder builder =
          DataLoader.over(data)
              .batchSize(70)
              .workers(2)
              .seed(7)
              .device(FakeDevice.NAME)
              .afterTransfer(Batch.Step.decode(0, 2, decoder, NORMALIZED));
      try (DataLoader loader = builder.build();
          Batches batches = loader.epoch(3)) {
        int taken = 0;
        for (Batch batch : batches) {
          assertThat(batch.tensor(0).device().str().getString()).isEqualTo(FakeDevice.NAME);
          float[] all = floats(batch.tensor(0));
          long[] indices = batch.indices();
          int size = all.length / indices.length;
          for (int i = 0; i < indices.length; i++) {
            float[] expected = row(NORMALIZED, data.images.get((int) indices[i]), 7, 3, indices[i]);
            assertThat(difference(Arrays.copyOfRange(all, i * size, (i + 1) * size), expected))
                .isLessThanOrEqualTo(1.001 / 255 / 0.224);
          }
          taken += indices.length;
        }
        assertThat(taken).isEqualTo(170);
      }
      assertThat(decoder.counts().onCpu()).isEqualTo(count(names(170), ON_CPU));
    }
  }
}
