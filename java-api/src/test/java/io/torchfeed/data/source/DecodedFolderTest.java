// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.image.ImageException;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import javax.imageio.ImageIO;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DecodedFolderTest {
  private static final int RED = 0xff102030;
  private static final int BLUE = 0xff0405f6;

  private Path root;

  @BeforeEach
  void makeFolder(@TempDir Path temporary) {
    root = temporary;
  }

  private Path path(String name) throws IOException {
    Path path = root.resolve(name);
    Files.createDirectories(requireNonNull(path.getParent()));
    return path;
  }

  private void write(String name, int type, int height, int width, int... pixels)
      throws IOException {
    BufferedImage image = new BufferedImage(width, height, type);
    for (int i = 0; i < height * width; i++) {
      image.setRGB(i % width, i / width, pixels[i % pixels.length]);
    }
    String format = name.substring(name.lastIndexOf('.') + 1);
    assertThat(ImageIO.write(image, format, path(name).toFile())).isTrue();
  }

  private static int[] bytes(Tensor tensor) {
    byte[] bytes = new byte[(int) tensor.numel()];
    tensor.data_ptr_byte().get(bytes);
    int[] values = new int[bytes.length];
    Arrays.setAll(values, i -> bytes[i] & 0xff);
    return values;
  }

  @Test
  void pixelsAreOrderedByColorRowAndColumn() throws IOException {
    write("cat/1.png", BufferedImage.TYPE_INT_RGB, 1, 2, RED, BLUE);
    write("dog/1.bmp", BufferedImage.TYPE_3BYTE_BGR, 1, 2, BLUE, RED);
    write("dog/2.png", BufferedImage.TYPE_BYTE_GRAY, 1, 2, 0xff000000, 0xffffffff);
    DecodedFolder folder = DecodedFolder.open(root, ImageDecoder.imageIo(1, 2));
    assertThat(folder.classes()).containsExactly("cat", "dog");
    assertThat(folder.label(2)).isEqualTo(1);
    assertThat(folder.labels()).isEqualTo(ImageList.of(root).labels());
    try (DataLoader loader = DataLoader.over(folder).batchSize(3).build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      assertThat(batch.tensor(0).sizes().vec().get()).containsExactly(3, 3, 1, 2);
      assertThat(bytes(batch.tensor(0)))
          .containsExactly(
              0x10, 0x04, 0x20, 0x05, 0x30, 0xf6, // cat/1.png
              0x04, 0x10, 0x05, 0x20, 0xf6, 0x30, // dog/1.bmp
              0, 255, 0, 255, 0, 255); // dog/2.png
      assertThat(Rows.longs(batch.tensor(1))).containsExactly(0, 1, 1);
    }
  }

  @Test
  void aPlanDecodesByContentAndRefusesOtherFormats() throws IOException {
    write("cat/1.png", BufferedImage.TYPE_INT_RGB, 1, 2, RED, BLUE);
    Files.copy(path("cat/1.png"), path("cat/2.jpg")); // as a file of ImageNet
    Files.writeString(path("dog/1.bmp"), "<svg>");
    write("dog/2.png", BufferedImage.TYPE_INT_ARGB, 1, 2, RED & 0xffffff, BLUE);
    DecodedFolder folder =
        DecodedFolder.open(root, ImageDecoder.of(ImagePlan.builder().resize(1, 2).build()));
    try (DataLoader loader = DataLoader.over(folder).batchSize(2).build();
        Batches batches = loader.epoch(0)) {
      Batch cats = batches.next();
      assertThat(cats.tensor(0).sizes().vec().get()).containsExactly(2, 3, 1, 2);
      int[] pixels = {0x10, 0x04, 0x20, 0x05, 0x30, 0xf6};
      assertThat(Arrays.copyOf(bytes(cats.tensor(0)), 6)).containsExactly(pixels);
      assertThat(Arrays.copyOfRange(bytes(cats.tensor(0)), 6, 12)).containsExactly(pixels);
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withMessageContaining(
              root.resolve("dog/1.bmp")
                  + " cannot be read as an image: an image must be a JPEG, PNG, WebP")
          .withCauseInstanceOf(ImageException.class);
    }
    try (DataLoader loader =
            DataLoader.over(folder).batchSize(4).onFailure(FailurePolicy.skipSample()).build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      assertThat(batch.indices()).containsExactly(0, 1, 3);
      assertThat(Arrays.copyOfRange(bytes(batch.tensor(0)), 12, 18))
          .containsExactly(0x10, 0x04, 0x20, 0x05, 0x30, 0xf6); // the color under transparency
    }
  }

  @Test
  void aPlanReadsFilesOfOtherFileSystems() throws IOException {
    write("1.png", BufferedImage.TYPE_INT_RGB, 1, 2, RED, BLUE);
    Path zip = root.resolve("images.zip");
    try (FileSystem files = FileSystems.newFileSystem(zip, Map.of("create", "true"))) {
      Files.createDirectory(files.getPath("/cat"));
      Files.copy(path("1.png"), files.getPath("/cat/1.png"));
      Files.write(files.getPath("/cat/2.png"), new byte[] {1});
      ImagePlan plan = ImagePlan.builder().resize(1, 2).build();
      DecodedFolder folder = DecodedFolder.open(files.getPath("/"), ImageDecoder.of(plan));
      try (DataLoader loader = DataLoader.over(folder).build();
          Batches batches = loader.epoch(0)) {
        assertThat(bytes(batches.next().tensor(0)))
            .containsExactly(0x10, 0x04, 0x20, 0x05, 0x30, 0xf6);
        assertThatExceptionOfType(SampleException.class)
            .isThrownBy(batches::next)
            .withMessageContaining("/cat/2.png cannot be read as an image: an image must be");
      }
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ImageFolder.of(ImageList.of(files.getPath("/")), plan))
          .withMessageStartingWith("/cat/1.png is not in the default file system");
      assertThatIllegalArgumentException()
          .isThrownBy(
              () ->
                  ImageRecords.write(
                      ImageList.of(files.getPath("/")), root.resolve("a"), done -> {}))
          .withMessageStartingWith("/cat/1.png is not in the default file system");
      Path inside = files.getPath("/a");
      for (ThrowingCallable opening :
          List.<ThrowingCallable>of(
              () -> ImageRecords.open(inside, plan),
              () -> ImageRecords.verify(inside, done -> {}),
              () -> ImageTar.open(List.of(inside), plan))) {
        assertThatIllegalArgumentException()
            .isThrownBy(opening)
            .withMessageStartingWith("/a is not in the default file system");
      }
      files.close();
      try (DataLoader loader = DataLoader.over(folder).build();
          Batches batches = loader.epoch(0)) {
        assertThatExceptionOfType(SampleException.class)
            .isThrownBy(batches::next)
            .withMessageContaining("/cat/1.png cannot be read as an image: ");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 7, 20})
  void anImageOfOneColorKeepsItsColorAtAnySize(int size) throws IOException {
    write("a/1.png", BufferedImage.TYPE_INT_RGB, 9, 5, RED);
    write("a/2.png", BufferedImage.TYPE_INT_ARGB, 5, 9, RED);
    write("a/3.png", BufferedImage.TYPE_INT_ARGB, 5, 9, 0); // transparent
    try (DataLoader loader =
            DataLoader.over(DecodedFolder.open(root, ImageDecoder.imageIo(size, size + 1)))
                .batchSize(3)
                .build();
        Batches batches = loader.epoch(0)) {
      int[] values = bytes(batches.next().tensor(0));
      int plane = size * (size + 1);
      int[] expected = new int[9 * plane];
      for (int image = 0; image < 2; image++) {
        for (int color = 0; color < 3; color++) {
          int from = (3 * image + color) * plane;
          Arrays.fill(expected, from, from + plane, 0x10 * (color + 1));
        }
      }
      assertThat(values).isEqualTo(expected);
    }
  }

  @Test
  void halvingTheSizeAveragesFourPixels() throws IOException {
    write(
        "a/1.png",
        BufferedImage.TYPE_INT_RGB,
        2,
        2,
        0xff000000,
        0xff646464,
        0xffc8c8c8,
        0xff323232);
    try (DataLoader loader =
            DataLoader.over(DecodedFolder.open(root, ImageDecoder.imageIo(1, 1))).build();
        Batches batches = loader.epoch(0)) {
      for (int value : bytes(batches.next().tensor(0))) {
        assertThat(value).isBetween(86, 89); // (0 + 100 + 200 + 50) / 4, rounded by the JDK
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"text.png", "cut.png", "empty.jpg", "cut.jpg", "cut.bmp", "unknown.webp"})
  void aBrokenImageIsReportedAndTheOthersAreRead(String name) throws IOException {
    write(
        "a/0." + name.substring(name.length() - 3).replace("ebp", "png"),
        BufferedImage.TYPE_INT_RGB,
        40,
        40,
        RED,
        BLUE);
    Path good = DecodedFolder.open(root, ImageDecoder.imageIo(8, 8)).files().get(0);
    byte[] bytes =
        switch (name) {
          case "cut.png", "cut.jpg", "cut.bmp" -> Arrays.copyOf(Files.readAllBytes(good), 60);
          case "empty.jpg" -> new byte[0];
          default -> "no image".getBytes(StandardCharsets.UTF_8);
        };
    Path broken = Files.write(path("a/" + name), bytes);
    try (DataLoader loader =
            DataLoader.over(DecodedFolder.open(root, ImageDecoder.imageIo(8, 8))).build();
        Batches batches = loader.epoch(0)) {
      batches.next();
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withMessageContaining("sample 1 of epoch 0")
          .withMessageContaining(broken.toString())
          .withMessageNotContaining("null");
    }
  }

  /** A decoder that writes the length and the first byte of a file, and fails for empty files. */
  private static final class Lengths implements ImageDecoder {
    @Override
    public RowSpec row() {
      return RowSpec.of(DType.INT32, 2);
    }

    @Override
    public void decode(byte[] encoded, SampleWriter sample, int column) {
      sample.putInt(column, encoded.length);
      sample.putInt(column, encoded[0]);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void anotherDecoderDeterminesTheColumn(int workers) throws IOException {
    Files.write(path("a/1.png"), new byte[] {7, 8, 9});
    Files.createFile(path("a/2.png"));
    Files.write(path("b/1.jpg"), new byte[] {5});
    DecodedFolder folder = DecodedFolder.open(root, new Lengths());
    try (DataLoader loader = DataLoader.over(folder).workers(workers).build();
        Batches batches = loader.epoch(0)) {
      Batch first = batches.next();
      assertThat(first.tensor(0).sizes().vec().get()).containsExactly(1, 2);
      assertThat(first.tensor(0).select(1, 0).item_int()).isEqualTo(3);
      assertThat(first.tensor(0).select(1, 1).item_int()).isEqualTo(7);
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withMessageContaining(root.resolve("a/2.png") + " cannot be read as an image: ")
          .withRootCauseInstanceOf(ArrayIndexOutOfBoundsException.class);
      Batch last = batches.next();
      assertThat(last.tensor(0).select(1, 1).item_int()).isEqualTo(5);
      assertThat(Rows.longs(last.tensor(1))).containsExactly(1);
    }
  }

  @Test
  void foldersWithoutClassesOrImagesAreRefused() throws IOException {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DecodedFolder.open(root, ImageDecoder.imageIo(8, 8)))
        .withMessage(
            "a folder for each class is needed, got none in %s; put the images of a class into %s",
            root, root.resolve("CLASS"));
    Files.createFile(path("empty/notes.txt"));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DecodedFolder.open(root, ImageDecoder.imageIo(8, 8)))
        .withMessage(
            "each class must have an image, got none in %s; add files whose names end in .jpg, .jpeg,"
                + " .png, .ppm, .bmp, .pgm, .tif, .tiff, .webp to it, remove the folder, or list it by withEmptyClasses",
            root.resolve("empty"));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImageList.withEmptyClasses(root))
        .withMessage("a class must have an image, got none in %s", root);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImageDecoder.imageIo(0, 8))
        .withMessage("height and width must be at least 1, got 0 and 8");
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> DecodedFolder.open(root.resolve("none"), ImageDecoder.imageIo(8, 8)))
        .withMessage("cannot read %s: no such file or directory", root.resolve("none"));
    Path file = root.resolve("empty/notes.txt");
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> DecodedFolder.open(file, ImageDecoder.imageIo(8, 8)))
        .withMessage("cannot read %s: it is not a directory", file);
  }

  @Test
  void hiddenFoldersAreNoClassesAndEmptyOnesAreOnRequest() throws IOException {
    Files.createFile(path(".ipynb_checkpoints/1-checkpoint.jpg"));
    Files.createFile(path("cat/1.jpg"));
    Files.createFile(path("dog/2.jpg"));
    assertThat(ImageList.of(root).classes()).containsExactly("cat", "dog");
    Files.createDirectories(root.resolve("cow"));
    assertThatIllegalArgumentException().isThrownBy(() -> ImageList.of(root));
    ImageList list = ImageList.withEmptyClasses(root);
    assertThat(list.classes()).containsExactly("cat", "cow", "dog");
    assertThat(list.labels()).containsExactly(0, 2);
  }

  @Test
  void filesThatAreNoImagesAreListedWithTheReason() throws IOException {
    Files.createFile(path("cat/1.jpg"));
    for (String name :
        new String[] {"cat/b/notes", "cat/animated.gif", ".git/x.jpg", "loose.jpg"}) {
      Files.createFile(path(name));
    }
    Files.createSymbolicLink(path("cat/2.jpg"), root.resolve("none"));
    assertThat(ImageList.of(root).leftOut())
        .containsExactly(
            root.resolve(".git") + ": hidden",
            root.resolve("loose.jpg") + ": in no folder of a class",
            root.resolve("cat/2.jpg") + ": a link without a target",
            root.resolve("cat/animated.gif") + ": its name does not end as that of an image",
            root.resolve("cat/b/notes") + ": its name does not end as that of an image");
    assertThat(ImageList.of(List.of("a"), List.of(root), new int[1]).leftOut()).isEmpty();
  }

  @Test
  void aListOfFilesAndLabelsNeedsNoFolders() {
    List<String> classes = List.of("no", "yes");
    List<Path> files = List.of(root.resolve("x.jpg"), root.resolve("y"), root.resolve("x.jpg"));
    ImageList list = ImageList.of(classes, files, new int[] {1, 0, 1});
    assertThat(list.files()).isEqualTo(files);
    assertThat(list.labels()).containsExactly(1, 0, 1);
    assertThat(list.classes()).isEqualTo(classes);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImageList.of(classes, files, new int[] {1, 0}))
        .withMessage("at least one file and a label for each are needed, got 3 files and 2 labels");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImageList.of(classes, List.of(), new int[0]));
    for (int wrong : new int[] {-1, 2}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ImageList.of(classes, files, new int[] {1, wrong, 1}))
          .withMessage(
              "labels must be in [0, 1], since there are 2 classes, got %d for %s",
              wrong, files.get(1));
    }
  }

  @Test
  void classesAndFilesAreNumberedAsInTorchvision() throws IOException {
    List<String> classes = new ArrayList<>();
    List<String> samples = new ArrayList<>();
    try (InputStream golden = getClass().getResourceAsStream("/golden/image_folder.txt")) {
      String text = new String(requireNonNull(golden).readAllBytes(), StandardCharsets.UTF_8);
      for (String line : text.lines().toList()) {
        String[] parts = line.split("\t", -1);
        switch (parts[0]) {
          case "file" -> Files.createFile(path(parts[1]));
          case "class" -> classes.add(parts[1]);
          case "sample" -> samples.add(parts[1] + " " + parts[2]);
          default -> assertThat(line).startsWith("#");
        }
      }
    }
    DecodedFolder folder = DecodedFolder.open(root, ImageDecoder.imageIo(8, 8));
    assertThat(folder.classes()).isEqualTo(classes).hasSizeGreaterThan(5);
    List<String> found = new ArrayList<>();
    for (int i = 0; i < folder.size(); i++) {
      found.add(folder.label(i) + " " + root.relativize(folder.files().get(i)));
    }
    assertThat(found).isEqualTo(samples).hasSizeGreaterThan(15);
  }
}
