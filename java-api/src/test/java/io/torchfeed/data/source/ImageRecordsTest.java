// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.bindings.ImageRecord;
import io.torchfeed.bindings.ImageRecordWriter;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.internal.PathBytes;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ImageRecordsTest {
  private static final List<String> NAMES =
      List.of("420.jpg", "rgba.png", "lossy.webp", "cmyk.jpg", "grey.jpg", "422_progressive.jpg");

  private final ImagePlan plan =
      ImagePlan.builder()
          .randomResizedCrop(12, 10)
          .horizontalFlip(0.5)
          .normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
          .build();

  private Path root;
  private Path file;

  @BeforeEach
  void makeFolder(@TempDir Path temporary) throws IOException {
    root = temporary.resolve("images");
    file = temporary.resolve("records");
    for (int i = 0; i < NAMES.size(); i++) {
      Path folder = Files.createDirectories(root.resolve(i % 2 == 0 ? "a" : "b \"ü\""));
      try (InputStream image = Rows.class.getResourceAsStream("/golden/images/" + NAMES.get(i))) {
        Files.copy(requireNonNull(image, NAMES.get(i)), folder.resolve(i + NAMES.get(i)));
      }
    }
  }

  private void write() {
    ImageRecords.write(ImageList.of(root), file, done -> {});
  }

  private static void refuse() {
    throw new AssertionError("an image was read");
  }

  private static List<Object> numbers(Batches batches) {
    List<Object> all = new ArrayList<>();
    for (Batch batch : batches) {
      float[] pixels = new float[(int) batch.tensor(0).numel()];
      new FloatPointer(batch.tensor(0).data_ptr_float()).get(pixels);
      all.add(pixels);
      all.add(Rows.longs(batch.tensor(1)));
    }
    return all;
  }

  private static DataLoader loader(DataLoaderBuilder builder) {
    return builder.sampler(ShuffledSampler.of(NAMES.size(), 5)).batchSize(2).seed(9).build();
  }

  /** Returns the numbers of all batches of two epochs. */
  private static List<Object> numbers(DataLoaderBuilder builder) {
    List<Object> all = new ArrayList<>();
    try (DataLoader loader = loader(builder)) {
      for (int epoch = 0; epoch < 2; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          all.addAll(numbers(batches));
        }
      }
    }
    return all;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void batchesEqualThoseOfTheFiles(int workers) {
    write();
    try (ImageFolder files = ImageFolder.open(root, plan);
        ImageRecords records = ImageRecords.open(file, plan)) {
      List<Object> expected = numbers(DataLoader.over(files));
      assertThat(records.columns()).isEqualTo(files.columns());
      assertThat(numbers(DataLoader.over(records).workers(workers)))
          .usingRecursiveComparison()
          .isEqualTo(expected);
      // JVM threads that gather
      assertThat(
              numbers(
                  DataLoader.over(records).workers(workers).onFailure(FailurePolicy.skipSample())))
          .usingRecursiveComparison()
          .isEqualTo(expected);
    }
  }

  @Test
  void aPassGoesOnFromItsState() {
    write();
    try (ImageRecords records = ImageRecords.open(file, plan);
        DataLoader loader = loader(DataLoader.over(records))) {
      LoaderState state;
      List<Object> rest;
      try (Batches batches = loader.epoch(3)) {
        batches.next();
        state = batches.state();
        rest = numbers(batches);
      }
      try (Batches batches = loader.resume(state)) {
        assertThat(numbers(batches)).hasSize(4).usingRecursiveComparison().isEqualTo(rest);
      }
    }
  }

  @Test
  void aSeedIsAcceptedWithoutRandomSteps() {
    write();
    ImagePlan middle = ImagePlan.builder().resize(4, 4).build();
    assertThat(middle.isRandom()).isFalse();
    assertThat(plan.isRandom()).isTrue();
    try (ImageRecords records = ImageRecords.open(file, middle);
        DataLoader loader = DataLoader.over(records).batchSize(2).seed(1).build();
        Batches batches = loader.epoch(0)) {
      assertThat(batches.next().size()).isEqualTo(2);
    }
  }

  @Test
  void aLabelWithoutAClassIsRefused() {
    String description = RecordDescription.write(List.of("cat"), 1, 0);
    try (BytePointer image = new BytePointer(PathBytes.of(ImageList.of(root).files().get(0)));
        BytePointer name = new BytePointer(PathBytes.of(file));
        BytePointer json = new BytePointer(description.getBytes(StandardCharsets.UTF_8));
        NativeHandle<ImageRecord> record =
            NativeHandle.create("ImageRecord", () -> ImageRecord.read(image));
        NativeHandle<ImageRecordWriter> writer =
            NativeHandle.create("ImageRecordWriter", () -> ImageRecordWriter.create(name))) {
      writer.run(to -> record.run(from -> to.add(from, 1)));
      writer.run(to -> to.finish(json));
    }
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> ImageRecords.open(file, plan))
        .withMessageContaining("image 0 of [" + file + "] has the label 1, but");
  }

  @Test
  void anyNameThatAFileSystemAllowsIsWritten() throws IOException {
    write();
    Path longest = file.resolveSibling("n".repeat(255));
    ImageRecords.write(ImageList.of(root), longest, done -> {});
    assertThat(longest).hasSameBinaryContentAs(file);
  }

  @Test
  void aLinkIsFollowedAndWhatIsNoFileIsKept() throws IOException {
    Path link = Files.createSymbolicLink(file.resolveSibling("link"), file);
    write();
    long size = Files.size(file);
    Files.writeString(file, "old");
    ImageRecords.write(ImageList.of(root), link, done -> {});
    assertThat(link).isSymbolicLink();
    assertThat(Files.size(file)).isEqualTo(size);
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> ImageRecords.write(ImageList.of(root), root, done -> refuse()))
        .withMessageContaining(root + " cannot be written: it exists and is not a regular file");
    assertThat(root).isDirectory();
    try (Stream<Path> files = Files.list(file.getParent())) {
      assertThat(files).containsExactlyInAnyOrder(root, file, link);
    }
  }

  @Test
  void filesFollowOneAnother() {
    write();
    try (ImageRecords records = ImageRecords.open(List.of(file, file), plan)) {
      ImageList list = ImageList.of(root);
      assertThat(records.size()).isEqualTo(12);
      assertThat(records.classes()).isEqualTo(list.classes()).hasSize(2);
      for (int i = 0; i < 12; i++) {
        assertThat(records.label(i)).isEqualTo(list.label(i % 6));
      }
      int[] labels = records.labels();
      assertThat(labels).startsWith(list.labels()).endsWith(list.labels()).hasSize(12);
      labels[0] = 7; // a copy
      assertThat(records.label(0)).isZero();
    }
    assertThatIllegalArgumentException().isThrownBy(() -> ImageRecords.open(List.of(), plan));
  }

  @Test
  void filesMustHaveTheSameClasses() throws IOException {
    write();
    Files.move(root.resolve("a"), root.resolve("c"));
    Path other = file.resolveSibling("other");
    ImageRecords.write(ImageList.of(root), other, done -> {});
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImageRecords.open(List.of(file, other), plan))
        .withMessageStartingWith("all record files must have the classes of the first, [a, b ")
        .withMessageEndingWith(other.toString());
  }

  @Test
  void progressCountsTheImages() {
    List<Long> written = new ArrayList<>();
    ImageRecords.write(ImageList.of(root), file, written::add);
    List<Long> verified = new ArrayList<>();
    assertThat(ImageRecords.verify(file, verified::add)).isEmpty();
    assertThat(written).isEqualTo(verified).containsExactly(1L, 2L, 3L, 4L, 5L, 6L);
  }

  @Test
  void verifyNamesWhatIsDamaged() throws IOException {
    write();
    long middle = Files.size(file) / 2;
    try (RandomAccessFile bytes = new RandomAccessFile(file.toFile(), "rw")) {
      bytes.seek(middle);
      int old = bytes.read();
      bytes.seek(middle);
      bytes.write(~old);
    }
    List<String> problems = ImageRecords.verify(file, done -> {});
    assertThat(problems).singleElement().asString().matches("image \\d: its checksum is wrong");
  }

  @Test
  void anImageThatCannotBeDecodedLeavesNoFile() throws IOException {
    Path broken = root.resolve("a").resolve("2.png");
    Files.writeString(broken, "text");
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(this::write)
        .withMessageStartingWith(broken + " cannot be read as an image: an image must be");
    try (Stream<Path> left = Files.list(file.getParent())) {
      assertThat(left).containsExactly(root);
    }
  }

  @Test
  void imagesThatCannotBeDecodedAreLeftOutOnRequest() throws IOException {
    Path broken = root.resolve("a").resolve("2.png");
    Path none = root.resolve("a").resolve("3\u001b.jpg");
    Files.writeString(broken, "text");
    Files.createFile(none);
    ImageList list = ImageList.of(root);
    List<Integer> kept =
        IntStream.range(0, list.size())
            .filter(i -> !List.of(broken, none).contains(list.files().get(i)))
            .boxed()
            .toList();
    List<Long> counts = new ArrayList<>();
    List<String> leftOut =
        ImageRecords.write(list, file, FailurePolicy.skipSample().afterRetries(1), counts::add);
    assertThat(leftOut).hasSize(2);
    assertThat(leftOut.get(0)).startsWith(broken + " cannot be read as an image: an image must be");
    assertThat(leftOut.get(1))
        .isEqualTo(
            root.resolve("a")
                + "/3\\u001b.jpg cannot be read as an image: the image is empty; get the file again, or leave it out");
    assertThat(counts).hasSize(list.size());
    try (ImageRecords records = ImageRecords.open(file, plan)) {
      assertThat(records.classes()).isEqualTo(list.classes());
      assertThat(records.labels()).isEqualTo(kept.stream().mapToInt(list::label).toArray());
    }
    assertThat(ImageRecords.verify(file, done -> {})).isEmpty();
    ImageList alone = ImageList.of(List.of("a"), List.of(broken), new int[1]);
    Path other = file.resolveSibling("other");
    assertThatIllegalStateException()
        .isThrownBy(() -> ImageRecords.write(alone, other, FailurePolicy.skipSample(), done -> {}))
        .withMessageStartingWith("an image must be left to be written, but all 1 were left out");
    assertThat(other).doesNotExist();
  }

  @Test
  void progressThatThrowsLeavesNoFile() throws IOException {
    assertThatIllegalStateException()
        .isThrownBy(
            () ->
                ImageRecords.write(
                    ImageList.of(root),
                    file,
                    done -> {
                      throw new IllegalStateException("enough");
                    }))
        .withMessage("enough");
    try (Stream<Path> left = Files.list(file.getParent())) {
      assertThat(left).containsExactly(root);
    }
  }

  @Test
  void anInterruptEndsWriting() {
    Thread.currentThread().interrupt();
    assertThatIllegalStateException()
        .isThrownBy(this::write)
        .withMessageContaining("interrupted while images were written");
    assertThat(Thread.interrupted()).isTrue();
    assertThat(file).doesNotExist();
  }

  @Test
  void aFileThatShrinksCostsOneBatch() throws IOException {
    write();
    try (ImageRecords records = ImageRecords.open(file, plan);
        DataLoader loader = DataLoader.over(records).batchSize(1).workers(1).build()) {
      try (RandomAccessFile bytes = new RandomAccessFile(file.toFile(), "rw")) {
        bytes.setLength(bytes.length() / 2);
      }
      try (Batches batches = loader.epoch(0)) {
        assertThat(batches.next().size()).isEqualTo(1);
        assertThatExceptionOfType(SampleException.class)
            .isThrownBy(
                () -> {
                  while (batches.hasNext()) {
                    batches.next();
                  }
                })
            .withMessageContaining(file + ": image ")
            .withMessageContaining("when it was opened");
      }
    }
  }

  @Test
  void otherFilesAreRefused() throws IOException {
    Files.writeString(file, "text");
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> ImageRecords.open(file, plan))
        .withMessage(file + " cannot be opened: it is not a file of image records");
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> ImageRecords.verify(root.resolve("none"), done -> {}))
        .withMessageContaining("No such file");
  }

  @Test
  void aLoaderOutlivesItsDataset() {
    write();
    ImageRecords records = ImageRecords.open(file, plan);
    try (DataLoader loader = DataLoader.over(records).build()) {
      records.close();
      records.close();
      try (Batches batches = loader.epoch(0)) {
        assertThat(batches.next().size()).isEqualTo(1);
      }
    }
    assertThatIllegalStateException().isThrownBy(() -> records.subset(0));
  }
}
