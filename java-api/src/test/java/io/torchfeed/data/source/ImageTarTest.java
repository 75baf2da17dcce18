// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.BytePointer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ImageTarTest {
  private static final List<String> SHARDS = List.of("ustar.tar", "gnu.tar", "pax.tar");

  private final ImagePlan plan = ImagePlan.builder().randomResizedCrop(12, 10).build();
  private final List<Path> shards = new ArrayList<>();

  /** The samples as WebDataset reads them. */
  private final List<Long> labels = new ArrayList<>();

  private final List<byte[]> images = new ArrayList<>();

  private Path root = Path.of("");

  private static byte[] golden(String name) throws IOException {
    try (InputStream file = Rows.class.getResourceAsStream("/golden/images/" + name)) {
      return requireNonNull(file, name).readAllBytes();
    }
  }

  @BeforeEach
  void makeShards(@TempDir Path temporary) throws IOException {
    root = temporary;
    for (String name : SHARDS) {
      shards.add(Files.write(root.resolve(name), golden(name)));
    }
    for (String line : new String(golden("tars.txt"), StandardCharsets.UTF_8).lines().toList()) {
      String[] words = line.split(" ", -1);
      if (words[0].equals("sample")) {
        labels.add(Long.parseLong(words[4]));
        images.add(golden(words[5]));
      }
    }
  }

  private static List<Object> numbers(DataLoader loader) {
    List<Object> all = new ArrayList<>();
    try (loader;
        Batches batches = loader.epoch(1)) {
      for (Batch batch : batches) {
        byte[] pixels = new byte[(int) batch.tensor(0).numel()];
        new BytePointer(batch.tensor(0).data_ptr()).get(pixels);
        all.add(pixels);
        all.add(Rows.longs(batch.tensor(1)));
      }
    }
    return all;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void batchesEqualThoseOfADatasetOfTheSamples(int workers) {
    Dataset expected =
        new Dataset() {
          @Override
          public long size() {
            return images.size();
          }

          @Override
          public List<RowSpec> columns() {
            return List.of(plan.row(), RowSpec.of(DType.INT64));
          }

          @Override
          public void read(long index, SampleWriter sample) {
            sample.putImage(0, images.get((int) index), plan);
            sample.putLong(1, labels.get((int) index));
          }
        };
    ShuffledSampler sampler = ShuffledSampler.of(images.size(), 5);
    try (ImageTar tar = ImageTar.open(shards, plan)) {
      assertThat(numbers(DataLoader.over(tar).sampler(sampler).seed(2).workers(workers).build()))
          .usingRecursiveComparison()
          .isEqualTo(numbers(DataLoader.over(expected).sampler(sampler).seed(2).build()));
      for (int i = 0; i < labels.size(); i++) {
        assertThat((long) tar.label(i)).isEqualTo(labels.get(i));
        assertThat((long) tar.labels()[i]).isEqualTo(labels.get(i));
      }
      assertThat(tar.classes()).isEmpty();
    }
  }

  @Test
  void namesOfClassesCoverTheLabels() {
    int largest = Math.toIntExact(Collections.max(labels));
    List<String> names = IntStream.rangeClosed(0, largest).mapToObj("class %d"::formatted).toList();
    try (ImageTar tar = ImageTar.open(shards, names, plan)) {
      assertThat(tar.classes()).isEqualTo(names);
      assertThat(tar.labels()).hasSize(labels.size());
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImageTar.open(shards, names.subList(0, largest), plan))
        .withMessageContaining("has the label %d, but there are %d classes", largest, largest);
  }

  @Test
  void samplesThatAreNoneAreLeftOutOnRequest() throws IOException {
    byte[] bytes = golden("ustar.tar");
    String text = new String(bytes, StandardCharsets.ISO_8859_1);
    int label = text.indexOf("train/0.cls"); // no label, with an intact checksum
    bytes[label + 8] = 's';
    bytes[label + 10] = 'c';
    Path shard = Files.write(root.resolve("odd.tar"), bytes);
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> ImageTar.open(List.of(shard), plan))
        .withMessage(shard + " cannot be opened: sample train/0 must have one label (cls)");
    try (ImageTar tar = ImageTar.open(List.of(shard), plan, FailurePolicy.skipSample());
        ImageTar whole = ImageTar.open(List.of(shards.get(0)), plan)) {
      assertThat(tar.leftOut())
          .containsExactly(shard + ": sample train/0 must have one label (cls)");
      assertThat(tar.labels())
          .isEqualTo(Arrays.copyOfRange(whole.labels(), 1, whole.labels().length));
      assertThat(whole.leftOut()).isEmpty();
    }
    Path odd = Files.move(shard, root.resolve("odd\n\u001b.tar"));
    try (ImageTar tar = ImageTar.open(List.of(odd), plan, FailurePolicy.skipSample())) {
      assertThat(tar.leftOut().get(0)).contains("odd\\n\\u001b.tar: sample train/0 must");
    }
  }

  @Test
  void joinedFilesHaveTheSamplesOfAll() throws IOException {
    Path joined = root.resolve("joined.tar");
    try (OutputStream out = Files.newOutputStream(joined)) {
      for (Path shard : shards) {
        Files.copy(shard, out);
      }
    }
    try (ImageTar whole = ImageTar.open(shards, plan);
        ImageTar tar = ImageTar.open(List.of(joined), plan)) {
      assertThat(tar.labels()).isEqualTo(whole.labels());
      assertThat(numbers(DataLoader.over(tar).seed(2).build()))
          .usingRecursiveComparison()
          .isEqualTo(numbers(DataLoader.over(whole).seed(2).build()));
    }
  }

  @Test
  void aFileWithoutASampleIsRefusedOrLeftOut() throws IOException {
    Path zeros = Files.write(root.resolve("zeros.tar"), new byte[10240]);
    String found = "it has no members, but zeros alone; write or download it again";
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> ImageTar.open(List.of(shards.get(0), zeros), plan))
        .withMessage(zeros + " cannot be opened: " + found + "; or leave it out");
    try (ImageTar tar =
            ImageTar.open(List.of(zeros, shards.get(0)), plan, FailurePolicy.skipSample());
        ImageTar whole = ImageTar.open(List.of(shards.get(0)), plan)) {
      assertThat(tar.leftOut()).containsExactly(zeros + ": " + found);
      assertThat(tar.labels()).isEqualTo(whole.labels());
    }
  }

  @Test
  void otherFilesAreRefused() throws IOException {
    Path text = Files.writeString(root.resolve("text"), "x".repeat(600));
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> ImageTar.open(List.of(shards.get(0), text), plan))
        .withMessage(text + " cannot be opened: it is not a tar file, or damaged at byte 0");
    assertThatIllegalArgumentException().isThrownBy(() -> ImageTar.open(List.of(), plan));
  }
}
