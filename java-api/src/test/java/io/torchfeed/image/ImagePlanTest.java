// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.task.SampleRandom;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;

class ImagePlanTest {
  static byte[] golden(String name) {
    try (InputStream file = ImagePlanTest.class.getResourceAsStream("/golden/images/" + name)) {
      return requireNonNull(file, name).readAllBytes();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** Builds the plan that the golden file gives as numbers, see torchfeed/image_plan.h. */
  private static ImagePlan plan(Stream<String> steps) {
    Iterator<Double> numbers = steps.map(Double::valueOf).iterator();
    ImagePlanBuilder builder = ImagePlan.builder();
    while (numbers.hasNext()) {
      switch (integer(numbers)) {
        case 0 -> scaling(builder, integer(numbers), filter(integer(numbers)));
        case 1 -> builder.resizeShortSide(integer(numbers));
        case 2 -> builder.resize(integer(numbers), integer(numbers));
        case 3 -> builder.centerCrop(integer(numbers), integer(numbers));
        case 4 -> builder.normalize(channels(numbers), channels(numbers));
        case 13 -> builder.exifOrientation();
        default -> throw new AssertionError("not a step without random numbers");
      }
    }
    return builder.build();
  }

  private static void scaling(ImagePlanBuilder builder, int dialect, ImageFilter filter) {
    if (dialect == 3) {
      builder.scaling(ImageDialect.TORCHVISION, filter).antialias(false);
    } else {
      builder.scaling(dialect(dialect), filter);
    }
  }

  private static ImageDialect dialect(int number) {
    return Stream.of(ImageDialect.values()).filter(d -> d.number() == number).findAny().get();
  }

  private static ImageFilter filter(int number) {
    return Stream.of(ImageFilter.values()).filter(f -> f.number() == number).findAny().get();
  }

  private static int integer(Iterator<Double> numbers) {
    return numbers.next().intValue();
  }

  private static float[] channels(Iterator<Double> numbers) {
    return new float[] {
      numbers.next().floatValue(), numbers.next().floatValue(), numbers.next().floatValue()
    };
  }

  /** Returns the row of a plan for a key of its random steps. */
  static byte[] row(ImagePlan plan, byte[] encoded, long seed, long epoch, long index) {
    byte[] row = new byte[(int) plan.row().bytes()];
    try (Slab slab = Slab.allocate(List.of(plan.row()), 1)) {
      plan.write(encoded, slab, 0, 0, seed, epoch, index);
      try (Tensor tensor = slab.view(0, 1);
          BytePointer bytes = new BytePointer(tensor.data_ptr())) {
        bytes.get(row);
      }
    }
    return row;
  }

  /** Returns the bytes of the second of two rows, after the plan wrote it. */
  private static byte[] row(ImagePlan plan, byte[] encoded) {
    byte[] row = new byte[(int) plan.row().bytes()];
    try (Slab slab = Slab.allocate(List.of(RowSpec.of(DType.INT64), plan.row()), 2)) {
      plan.write(encoded, slab, 1, 1, 0, 0, 0);
      try (Tensor both = slab.view(1, 2);
          BytePointer bytes = new BytePointer(both.data_ptr())) {
        bytes.position(row.length).limit(2L * row.length);
        bytes.get(row);
      }
    }
    return row;
  }

  @Test
  void rowsEqualThoseOfTorchvisionsTransforms() {
    List<String> lines =
        new String(golden("cases.txt"), StandardCharsets.UTF_8)
            .lines()
            .filter(line -> line.startsWith("plan "))
            .toList();
    for (String line : lines) {
      String[] words = line.split(" ");
      ImagePlan plan = plan(Arrays.stream(words).skip(4));
      CRC32 crc = new CRC32();
      crc.update(row(plan, golden(words[1])));
      assertThat(crc.getValue()).as(line).isEqualTo(Long.parseLong(words[2], 16));
    }
    assertThat(lines).hasSizeGreaterThan(40);
  }

  private static ImagePlan flipped(double horizontal, double vertical) {
    return ImagePlan.builder()
        .resize(4, 5)
        .horizontalFlip(horizontal)
        .verticalFlip(vertical)
        .build();
  }

  @Test
  void randomStepsDrawTheNumbersOfTheSample() {
    byte[] image = golden("420.jpg");
    SampleRandom random = new SampleRandom();
    boolean[] seen = new boolean[4];
    for (int index = 0; index < 40; index++) {
      random.begin(7, 2, index);
      int horizontal = (random.nextInt() & 0xffffff) < 0.5 * (1 << 24) ? 1 : 0;
      int vertical = (random.nextInt() & 0xffffff) < 0.3f * (1 << 24) ? 1 : 0;
      random.end();
      assertThat(row(flipped(0.5, 0.3), image, 7, 2, index))
          .isEqualTo(row(flipped(horizontal, vertical), image, 0, 0, 0));
      seen[2 * horizontal + vertical] = true;
    }
    assertThat(seen).doesNotContain(false);
  }

  @Test
  void everyRandomStepChangesWithTheSample() {
    byte[] image = golden("444.jpg");
    List<ImagePlanBuilder> builders =
        List.of(
            ImagePlan.builder().randomResizedCrop(20, 20),
            ImagePlan.builder().randomResizedCrop(20, 20, 0.2, 0.3),
            ImagePlan.builder().resize(20, 20).colorJitter(0.4, 0, 0, 0),
            ImagePlan.builder().resize(20, 20).colorJitter(0, 0.4, 0, 0),
            ImagePlan.builder().resize(20, 20).colorJitter(0, 0, 0.4, 0),
            ImagePlan.builder().resize(20, 20).colorJitter(0, 0, 0, 0.1),
            ImagePlan.builder().resize(20, 20).randAugment(2, 9),
            ImagePlan.builder().resize(20, 20).trivialAugmentWide(),
            ImagePlan.builder().resize(20, 20).gaussianBlur(5, 0.1, 2),
            ImagePlan.builder().resize(20, 20).randomErasing(1),
            ImagePlan.builder().resize(20, 20).randomErasing(1, 0.1, 0.5, 9, 99, 199));
    for (ImagePlanBuilder builder : builders) {
      ImagePlan plan = builder.build();
      long different =
          IntStream.range(0, 30)
              .mapToObj(index -> Arrays.hashCode(row(plan, image, 1, 0, index)))
              .distinct()
              .count();
      assertThat(different).isGreaterThan(10);
      assertThat(row(plan, image, 1, 0, 3)).isEqualTo(row(plan, image, 1, 0, 3));
    }
  }

  @Test
  void erasingSetsTheResultToZeroOrFillsItWithAColorBeforeItIsNormalized() {
    byte[] image = golden("420.jpg");
    float[] mean = {0.201f, 0.401f, 0.601f};
    float[] std = {0.3f, 0.5f, 0.7f};
    ImagePlan zero =
        ImagePlan.builder().resize(20, 20).normalize(mean, std).randomErasing(1, 0.2, 0.4).build();
    ImagePlan color =
        ImagePlan.builder()
            .resize(20, 20)
            .randomErasing(1, 0.2, 0.4, 10, 20, 250)
            .normalize(mean, std)
            .build();
    float[] cleared = floats(row(zero, image, 1, 0, 3));
    float[] colored = floats(row(color, image, 1, 0, 3));
    int[] values = {10, 20, 250};
    int erased = 0;
    for (int i = 0; i < cleared.length; i++) {
      int channel = i / 400;
      float filled = (values[channel] * (1f / 255f) - mean[channel]) / std[channel];
      assertThat(colored[i]).isEqualTo(cleared[i] == 0 ? filled : cleared[i]);
      erased += cleared[i] == 0 ? 1 : 0;
    }
    assertThat(erased).isBetween(3 * 60, 3 * 180);
    assertThat(zero.isRandom()).isTrue();
  }

  private static float[] floats(byte[] row) {
    float[] floats = new float[row.length / Float.BYTES];
    ByteBuffer.wrap(row).order(ByteOrder.nativeOrder()).asFloatBuffer().get(floats);
    return floats;
  }

  @Test
  void thePlanDecidesTheRow() {
    assertThat(ImagePlan.builder().resize(4, 5).build().row())
        .isEqualTo(RowSpec.of(DType.UINT8, 3, 4, 5));
    assertThat(
            ImagePlan.builder()
                .centerCrop(4, 5)
                .normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
                .build())
        .hasToString("ImagePlan to float32 [3, 4, 5]");
  }

  @Test
  void greyPixelsOf16BitsAreClippedOnRequest() {
    byte[] wide = golden("grey_16bit.png"); // high bytes and the same low ones, less some bits
    byte[] high = row(ImagePlan.builder().crop(0, 0, 4, 5).build(), wide);
    byte[] clipped = row(ImagePlan.builder().crop(0, 0, 4, 5).clipGrey16().build(), wide);
    for (int i = 0; i < high.length; i++) {
      assertThat(clipped[i]).isEqualTo((byte) (high[i] == 0 ? 0x5a : 0xff));
    }
    assertThatIllegalStateException()
        .isThrownBy(() -> ImagePlan.builder().clipGrey16().clipGrey16())
        .withMessage("clipGrey16 was called before");
  }

  @Test
  void bytesThatAreNoImageAreRefused() {
    ImagePlan plan = ImagePlan.builder().resize(4, 5).build();
    byte[] whole = golden("420.jpg");
    assertThatExceptionOfType(ImageException.class)
        .isThrownBy(() -> row(plan, new byte[0]))
        .withMessage("the image is empty; get the file again, or leave it out");
    assertThatExceptionOfType(ImageException.class)
        .isThrownBy(() -> row(plan, new byte[] {'B', 'L', 1}))
        .withMessage(
            "an image must be a JPEG, PNG, WebP, BMP, GIF, PNM or TIFF, but its first bytes are "
                + "42 4c 01; convert it to PNG, or leave it out");
    assertThatExceptionOfType(ImageException.class)
        .isThrownBy(() -> row(plan, Arrays.copyOf(whole, whole.length - 2)))
        .withMessage("Premature end of JPEG file; get the file again, or leave it out");
    assertThat(row(plan, whole)).hasSize(60);
  }

  @Test
  void aPlanFitsOnlyColumnsOfItsRow() {
    ImagePlan plan = ImagePlan.builder().resize(4, 5).build();
    byte[] image = golden("one_pixel.jpg");
    Slab slab = Slab.allocate(List.of(plan.row(), RowSpec.of(DType.UINT8, 3, 5, 4)), 2);
    try (slab) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.write(image, slab, 1, 0, 0, 0, 0))
          .withMessage("column 1 has rows uint8 [3, 5, 4], but the plan makes uint8 [3, 4, 5]");
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> plan.write(image, slab, 0, 2, 0, 0, 0));
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> plan.write(image, slab, 2, 0, 0, 0, 0));
    }
    assertThatIllegalStateException().isThrownBy(() -> plan.write(image, slab, 0, 0, 0, 0, 0));
  }

  @Test
  void cropsEqualThoseOfPillow() {
    int compared = 0;
    for (String line : new String(golden("cases.txt"), StandardCharsets.UTF_8).lines().toList()) {
      String[] words = line.split(" ");
      // pass FILE DIALECT FILTER CROP SIZE WINDOW FLIPS CRC, where nothing but the crop happens
      if (!words[0].equals("pass")
          || !line.contains(
              " %s %s 0 0 %s %s 0 0 ".formatted(words[6], words[7], words[6], words[7]))
          || !words[6].equals(words[8])
          || !words[7].equals(words[9])) {
        continue;
      }
      compared++;
      int[] box = Arrays.stream(words, 4, 8).mapToInt(Integer::parseInt).toArray();
      ImagePlan plan = ImagePlan.builder().crop(box[1], box[0], box[3], box[2]).build();
      byte[] planes = row(plan, golden(words[1]));
      int area = planes.length / 3;
      CRC32 crc = new CRC32();
      for (int i = 0; i < planes.length; i++) {
        crc.update(planes[i % 3 * area + i / 3]);
      }
      assertThat("%08x".formatted(crc.getValue())).as(line).isEqualTo(words[words.length - 1]);
    }
    assertThat(compared).isGreaterThanOrEqualTo(500);
    ImagePlan outside = ImagePlan.builder().resizeShortSide(20).crop(-9, 500, 4, 5).build();
    assertThat(row(outside, golden("420.jpg"))).containsOnly(0);
  }

  @Test
  void theLimitOfPixelsCanBeChosen() {
    byte[] image = golden("444.jpg"); // 150 x 118
    ImagePlanBuilder builder = ImagePlan.builder().resize(2, 2);
    assertThat(row(builder.maxPixels(150 * 118).build(), image)).hasSize(12);
    ImagePlan lower = ImagePlan.builder().resize(2, 2).maxPixels(150 * 118 - 1).build();
    assertThatExceptionOfType(ImageException.class)
        .isThrownBy(() -> row(lower, image))
        .withMessage(
            "an image must have at most 17699 pixels, got 150x118; maxPixels of the plan changes"
                + " this limit");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImagePlan.builder().maxPixels(0))
        .withMessage("maxPixels must be in [1, 4294836225], got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImagePlan.builder().crop(-65536, 0, 1, 1))
        .withMessage("top and left must be in [-65535, 65535], got -65536 and 0");
  }

  @Test
  void stepsThatContradictAreRefused() {
    assertThatIllegalStateException()
        .isThrownBy(() -> ImagePlan.builder().build())
        .withMessage(
            "a plan needs resize, centerCrop, crop or randomResizedCrop, which decide the size");
    assertThatIllegalStateException()
        .isThrownBy(() -> ImagePlan.builder().resize(1, 2).centerCrop(1, 2))
        .withMessage("centerCrop cannot follow resize, which decides the size, 1x2");
    assertThatIllegalStateException()
        .isThrownBy(() -> ImagePlan.builder().resizeShortSide(9).resize(1, 2).build())
        .withMessage("resizeShortSide needs centerCrop or crop, got resize");
    assertThatIllegalStateException()
        .isThrownBy(() -> ImagePlan.builder().resizeShortSide(9).resizeShortSide(8))
        .withMessage("resizeShortSide was called before");
    ImagePlanBuilder plain = ImagePlan.builder().resize(1, 2).antialias(false);
    assertThatIllegalArgumentException().isThrownBy(plain::build);
    plain.scaling(ImageDialect.TORCHVISION, ImageFilter.BILINEAR).build();
    assertThatIllegalStateException()
        .isThrownBy(() -> plain.horizontalFlip(1))
        .withMessage("the plan was built before; begin with another builder");
    assertThatIllegalStateException()
        .isThrownBy(() -> ImagePlan.builder().resize(65535, 65535).build())
        .withMessageStartingWith("a row must have fewer than 2^31 bytes");
  }

  @Test
  void wrongArgumentsAreRefused() {
    ImagePlanBuilder builder = ImagePlan.builder();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.resize(0, 5))
        .withMessage("a side must have from 1 to 65535 pixels, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.scaling(ImageDialect.TORCHVISION, ImageFilter.BOX))
        .withMessage("filter must be BILINEAR or BICUBIC in the dialect TORCHVISION, got BOX");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImagePlan.builder().resize(4, 4).antialias(false).build())
        .withMessage(
            "antialias(false) needs scaling(TORCHVISION, BILINEAR), got PILLOW and BILINEAR");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.normalize(new float[2], new float[3]))
        .withMessage("mean must have 3 numbers, got 2");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.normalize(new float[3], new float[] {1, 0, 1}))
        .withMessage("std must not be 0, got [1.0, 0.0, 1.0]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.normalize(new float[] {0, Float.NaN, 0}, new float[3]))
        .withMessage("mean must be finite, got [0.0, NaN, 0.0]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.randomResizedCrop(2, 2, 0.5, 0.4))
        .withMessage("minArea and maxArea must be ascending in [0, 1], got 0.5 and 0.4");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.horizontalFlip(1.5))
        .withMessage("probability must be in [0, 1], got 1.5");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.colorJitter(0, -1, 0, 0))
        .withMessage("a factor must be in [0, 1e6), got -1.0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.colorJitter(0, 0, 0, 0.6))
        .withMessage("hue must be in [0, 0.5], got 0.6");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.randomErasing(1.1))
        .withMessage("probability must be in [0, 1], got 1.1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.randomErasing(1, 0.5, 0.4))
        .withMessage("minArea and maxArea must be ascending in [0, 1], got 0.5 and 0.4");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.randomErasing(1, 0.1, 0.4, 0, 256, 0))
        .withMessage("color must have 3 numbers in [0, 255], got [0, 256, 0]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.randAugment(2, 31))
        .withMessage("operations must be in [0, 100] and magnitude in [0, 30], got 2 and 31");
  }
}
