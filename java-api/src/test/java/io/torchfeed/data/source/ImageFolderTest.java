// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.image.ImagePlanBuilder;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.FloatPointer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ImageFolderTest {
  private static final List<String> NAMES =
      List.of("420.jpg", "rgba.png", "lossy.webp", "cmyk.jpg", "grey.jpg", "444_odd.jpg");

  private final ImagePlan plan =
      normalized(
          ImagePlan.builder()
              .randomResizedCrop(12, 10)
              .randomApply(0.8, steps -> steps.colorJitter(0.8, 0.8, 0.8, 0.2).horizontalFlip(0.5))
              .randomGrayscale(0.2)
              .randomApply(0.5, steps -> steps.gaussianBlur(7, 0.1, 2)));
  private Path root;

  private static ImagePlan normalized(ImagePlanBuilder builder) {
    return builder.normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd()).build();
  }

  @BeforeEach
  void makeFolder(@TempDir Path temporary) throws IOException {
    root = temporary;
    for (int i = 0; i < NAMES.size(); i++) {
      Path folder = Files.createDirectories(root.resolve(i % 2 == 0 ? "a" : "b"));
      try (InputStream file = Rows.class.getResourceAsStream("/golden/images/" + NAMES.get(i))) {
        Files.copy(requireNonNull(file, NAMES.get(i)), folder.resolve(i + NAMES.get(i)));
      }
    }
  }

  /** Returns the numbers of all batches of two epochs. */
  private static List<Object> numbers(DataLoaderBuilder builder) {
    List<Object> all = new ArrayList<>();
    try (DataLoader loader =
        builder.sampler(ShuffledSampler.of(NAMES.size(), 5)).batchSize(4).build()) {
      for (int epoch = 0; epoch < 2; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          for (Batch batch : batches) {
            float[] pixels = new float[(int) batch.tensor(0).numel()];
            new FloatPointer(batch.tensor(0).data_ptr_float()).get(pixels);
            all.add(pixels);
            all.add(Rows.longs(batch.tensor(1)));
          }
        }
      }
    }
    return all;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void batchesEqualThoseOfTheFolder(int workers) {
    DecodedFolder folder = DecodedFolder.open(root, ImageDecoder.of(plan));
    List<Object> expected = numbers(DataLoader.over(folder).seed(9));
    try (ImageFolder images = ImageFolder.open(root, plan)) {
      assertThat(images.columns()).isEqualTo(folder.columns());
      assertThat(images.classes()).isEqualTo(folder.classes());
      assertThat(images.labels()).isEqualTo(folder.labels());
      assertThat(numbers(DataLoader.over(images).seed(9).workers(workers)))
          .usingRecursiveComparison()
          .isEqualTo(expected);
      // JVM threads that gather
      assertThat(
              numbers(
                  DataLoader.over(images)
                      .seed(9)
                      .workers(workers)
                      .onFailure(FailurePolicy.skipSample())))
          .usingRecursiveComparison()
          .isEqualTo(expected);
      assertThat((float[]) numbers(DataLoader.over(images).seed(8)).get(0))
          .isNotEqualTo(expected.get(0));
    }
  }

  @Test
  void aSubsetDrawsForItsOwnIndices() {
    DecodedFolder folder = DecodedFolder.open(root, ImageDecoder.of(plan));
    long[] indices = {4, 4, 2, 1, 0, 5};
    List<Object> expected = numbers(DataLoader.over(folder.subset(indices)).seed(9));
    try (ImageFolder images = ImageFolder.open(root, plan);
        NativeDataset part = images.subset(indices)) {
      assertThat(numbers(DataLoader.over(part).seed(9)))
          .usingRecursiveComparison()
          .isEqualTo(expected);
    }
  }

  @Test
  void aFileThatCannotBeDecodedCostsOneBatch() throws IOException {
    Path broken = Files.writeString(root.resolve("a").resolve("1.jpg"), "text");
    ImageList list = ImageList.of(root);
    int index = list.files().indexOf(broken);
    try (ImageFolder images = ImageFolder.of(list, plan);
        DataLoader loader = DataLoader.over(images).batchSize(1).workers(1).build();
        Batches batches = loader.epoch(0)) {
      for (int i = 0; i < index; i++) {
        batches.next();
      }
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withMessageContaining("sample %d of epoch 0".formatted(index))
          .withMessageContaining(broken + " cannot be read as an image: an image must be a JPEG");
      assertThat(batches.next().size()).isEqualTo(1);
    }
  }

  @Test
  void aLoaderOutlivesItsDataset() {
    ImageFolder images = ImageFolder.open(root, plan);
    try (DataLoader loader = DataLoader.over(images).build()) {
      images.close();
      images.close();
      try (Batches batches = loader.epoch(0)) {
        assertThat(batches.next().size()).isEqualTo(1);
      }
    }
    assertThatIllegalStateException().isThrownBy(() -> images.subset(0));
  }
}
