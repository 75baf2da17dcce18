// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.image.ImageException;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ImageSampleTest {
  private static final ImagePlan PLAN =
      ImagePlan.builder()
          .resizeShortSide(20)
          .centerCrop(16, 18)
          .normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
          .build();
  private static final List<byte[]> IMAGES =
      List.of(golden("420.jpg"), golden("rgba.png"), golden("lossy.webp"), golden("cmyk.jpg"));

  private static byte[] golden(String name) {
    try (InputStream file = Rows.class.getResourceAsStream("/golden/images/" + name)) {
      return requireNonNull(file, name).readAllBytes();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private record Images(ImagePlan plan, SampleReader reader) implements Dataset {
    private interface SampleReader {
      void read(long index, SampleWriter sample);
    }

    @Override
    public long size() {
      return 40;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64), plan.row());
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.putLong(0, index);
      reader.read(index, sample);
    }
  }

  private static byte[] image(long index) {
    return IMAGES.get((int) index % IMAGES.size());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 3})
  void eachRowOfABatchIsItsImage(int workers) {
    Images images = new Images(PLAN, (index, sample) -> sample.putImage(1, image(index), PLAN));
    try (DataLoader loader = DataLoader.over(images).batchSize(8).workers(workers).build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        Tensor rows = batch.tensor(1);
        assertThat(rows.sizes().vec().get()).containsExactly(8, 3, 16, 18);
        for (int row = 0; row < 4; row++) {
          try (Tensor one = rows.select(0, row);
              Tensor again = rows.select(0, row + 4);
              Tensor other = rows.select(0, row + 1)) {
            assertThat(one.equal(again)).isTrue();
            assertThat(one.equal(other)).isFalse();
          }
        }
      }
    }
  }

  /** Returns a name that not every locale can decode. */
  private static Path accented(Path folder, long number) {
    return Path.of(URI.create(folder.toUri() + "%C3%A9" + number));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 3})
  void anImageFileIsReadAsItsContent(int workers, @TempDir Path folder) throws IOException {
    for (int i = 0; i < IMAGES.size(); i++) {
      Files.write(accented(folder, i), IMAGES.get(i));
    }
    ImagePlan random = ImagePlan.builder().randomResizedCrop(16, 18).build();
    Images contents = new Images(random, (i, sample) -> sample.putImage(1, image(i), random));
    Images files =
        new Images(
            random, (i, sample) -> sample.putImage(1, accented(folder, i % IMAGES.size()), random));
    try (DataLoader expected = DataLoader.over(contents).batchSize(8).seed(7).build();
        DataLoader loader = DataLoader.over(files).batchSize(8).seed(7).workers(workers).build();
        Batches wanted = expected.epoch(1);
        Batches batches = loader.epoch(1)) {
      for (Batch batch : batches) {
        assertThat(batch.tensor(1).equal(wanted.next().tensor(1))).isTrue();
      }
      assertThat(wanted.hasNext()).isFalse();
    }
  }

  @Test
  void aFileThatIsNoImageFailsTheSample(@TempDir Path folder) throws IOException {
    assertFails(
        (index, sample) -> sample.putImage(1, folder.resolve("none"), PLAN),
        ImageException.class,
        folder.resolve("none") + " cannot be read as an image: No such file or directory");
    assertFails(
        (index, sample) -> sample.putImage(1, folder, PLAN),
        ImageException.class,
        folder + " cannot be read as an image: it is not a regular file");
    Path text = Files.write(folder.resolve("text"), new byte[] {1});
    assertFails(
        (index, sample) -> sample.putImage(1, text, PLAN),
        ImageException.class,
        text + " cannot be read as an image: an image must be a JPEG, PNG, WebP");
    Path image = Files.write(folder.resolve("image"), image(0));
    ImagePlan bytes = ImagePlan.builder().resize(16, 18).build();
    assertFails(
        (index, sample) -> sample.putImage(1, image, bytes),
        IllegalArgumentException.class,
        "column 1 has rows float32 [3, 16, 18], but the plan makes uint8 [3, 16, 18]");
    assertFails(
        (index, sample) -> {
          sample.putImage(1, image, PLAN);
          sample.putImage(1, image, PLAN);
        },
        IllegalArgumentException.class,
        "got 864 after 864");
  }

  private static void assertFails(Images.SampleReader reader, Class<?> type, String message) {
    try (DataLoader loader = DataLoader.over(new Images(PLAN, reader)).build();
        Batches batches = loader.epoch(0)) {
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .havingCause()
          .isInstanceOf(type)
          .withMessageContaining(message);
    }
  }

  @Test
  void anImageIsAWholeColumn() {
    assertFails(
        (index, sample) -> {
          sample.putFloat(1, 0);
          sample.putImage(1, image(0), PLAN);
        },
        IllegalArgumentException.class,
        "column 1 takes 864 elements of a sample (float32 [3, 16, 18]), got 864 after 1");
    assertFails(
        (index, sample) -> {
          sample.putImage(1, image(0), PLAN);
          sample.putFloat(1, 0);
        },
        IllegalArgumentException.class,
        "got 1 after 864");
    assertFails(
        (index, sample) -> {},
        IllegalStateException.class,
        "column 1 takes 864 elements of a sample");
  }

  @Test
  void anImageFitsItsColumn() {
    ImagePlan bytes = ImagePlan.builder().resize(16, 18).build();
    assertFails(
        (index, sample) -> sample.putImage(1, image(0), bytes),
        IllegalArgumentException.class,
        "column 1 has rows float32 [3, 16, 18], but the plan makes uint8 [3, 16, 18]");
    assertFails(
        (index, sample) -> sample.putImage(2, image(0), PLAN),
        IndexOutOfBoundsException.class,
        "column must be in [0, 1], got 2");
  }

  @Test
  void bytesThatAreNoImageFailTheSample() {
    assertFails(
        (index, sample) -> sample.putImage(1, new byte[] {1}, PLAN),
        ImageException.class,
        "its first bytes are 01");
  }
}
