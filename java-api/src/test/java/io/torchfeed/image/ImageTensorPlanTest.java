// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static io.torchfeed.image.TestImages.ALL;
import static io.torchfeed.image.TestImages.HEIGHT;
import static io.torchfeed.image.TestImages.MEAN;
import static io.torchfeed.image.TestImages.PLAIN;
import static io.torchfeed.image.TestImages.STD;
import static io.torchfeed.image.TestImages.TOLERANCE;
import static io.torchfeed.image.TestImages.WIDTH;
import static io.torchfeed.image.TestImages.difference;
import static io.torchfeed.image.TestImages.floats;
import static io.torchfeed.image.TestImages.images;
import static io.torchfeed.image.TestImages.range;
import static io.torchfeed.image.TestImages.tensor;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.image.TensorDraws.Change;
import io.torchfeed.image.TensorDraws.Operation;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.Slab;
import io.torchfeed.testing.GoldenLine;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;

class ImageTensorPlanTest {
  @Test
  void everyByteIsNormalizedAsByFloatsOfJava() {
    byte[] bytes = new byte[3 * 256];
    float[] expected = new float[bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) i;
      expected[i] = ((i % 256) * (1 / 255f) - MEAN[i / 256]) / STD[i / 256];
    }
    Tensor made = PLAIN.apply(tensor(bytes, 1, 3, 16, 16));
    assertThat(floats(made)).isEqualTo(expected);
  }

  private static ImagePlanBuilder crop() {
    return ImagePlan.builder().randomResizedCrop(37, 41);
  }

  private static Tensor rows(ImagePlan plan, Slab slab) throws IOException {
    try (InputStream file =
        requireNonNull(ImageTensorPlanTest.class.getResourceAsStream("/golden/images/420.jpg"))) {
      byte[] encoded = file.readAllBytes();
      for (int row = 0; row < slab.rows(); row++) {
        plan.write(encoded, slab, 0, row, 1, 2, row);
      }
    }
    try (Tensor view = slab.view(0, slab.rows())) {
      return view.clone();
    }
  }

  @Test
  void bitsEqualThoseOfAnImagePlanThatNormalizes() throws IOException {
    ImagePlan bytes = crop().build();
    ImagePlan floats = crop().normalize(MEAN, STD).build();
    ImagePlan flipped = crop().horizontalFlip(1).normalize(MEAN, STD).build();
    try (Slab byteSlab = Slab.allocate(List.of(bytes.row()), 5);
        Slab floatSlab = Slab.allocate(List.of(floats.row()), 5)) {
      Tensor images = rows(bytes, byteSlab);
      assertThat(PLAIN.apply(images).equal(rows(floats, floatSlab))).isTrue();
      assertThat(
              PLAIN.horizontalFlip(1).apply(images, 1, 2, range(5)).equal(rows(flipped, floatSlab)))
          .isTrue();
    }
  }

  @Test
  void colorsEqualTorchvisions() {
    List<GoldenLine> lines =
        GoldenLine.read("image_tensors.txt").stream()
            .map(GoldenLine::parse)
            .filter(line -> line.name().equals("image"))
            .toList();
    boolean[] flips = new boolean[lines.size()];
    Change[][] changes = new Change[lines.size()][];
    for (int i = 0; i < flips.length; i++) {
      flips[i] = lines.get(i).number("flips") == 1;
      changes[i] =
          Arrays.stream(lines.get(i).text("steps").split(",", -1))
              .map(step -> step.split(":", -1))
              .map(step -> new Change(Operation.valueOf(step[0]), Double.parseDouble(step[1])))
              .toArray(Change[]::new);
    }
    Tensor made = PLAIN.apply(images(flips.length), TensorDraws.drawn(flips, changes, 3));
    for (int i = 0; i < flips.length; i++) {
      float[] pixels = floats(made.select(0, i));
      double[] expected = lines.get(i).decimals("normalized");
      for (int k = 0; k < expected.length; k++) {
        assertThat((double) pixels[97 * k])
            .as("%s pixel %d", lines.get(i).line().substring(0, 80), 97 * k)
            .isCloseTo(expected[k], within(1e-6));
      }
    }
    assertThat(lines).hasSize(24);
  }

  @Test
  void otherDtypesAreRoundedFromFloats() {
    Tensor images = images(4);
    Tensor floats = ALL.apply(images, 1, 2, range(4));
    for (DType dtype : List.of(DType.FLOAT16, DType.BFLOAT16)) {
      Tensor rounded = ALL.to(dtype).apply(images, 1, 2, range(4));
      assertThat(DType.of(rounded.scalar_type())).isEqualTo(dtype);
      assertThat(rounded.equal(floats.to(dtype.scalarType()))).isTrue();
    }
    assertThat(DType.of(floats.scalar_type())).isEqualTo(DType.FLOAT32);
  }

  @Test
  void imageAndItsDrawsDoNotDependOnTheRestOfTheBatch() {
    Tensor images = images(6);
    Tensor before = images.clone();
    long[] indices = {70, 71, 72, 73, 74, 75};
    Tensor all = ALL.apply(images, 3, 4, indices);
    for (int i = 0; i < indices.length; i++) {
      Tensor alone = ALL.apply(images.narrow(0, i, 1), 3, 4, new long[] {indices[i]});
      assertThat(difference(alone, all.narrow(0, i, 1))).isLessThan(TOLERANCE);
    }
    assertThat(images.equal(before)).isTrue();
    assertThat(ALL.apply(images, 3, 4, indices).equal(all)).isTrue();
    assertThat(difference(ALL.apply(images, 3, 5, indices), all)).isGreaterThan(0.1f);
    assertThat(difference(ALL.apply(images, 4, 4, indices), all)).isGreaterThan(0.1f);
  }

  @Test
  void drawsHaveTheirDistribution() {
    int count = 60_000;
    TensorDraws.Drawn drawn = new TensorDraws(0.25, 0.4, 1.5, 0.1).draw(8, 9, range(count));
    float[] numbers = drawn.numbers;
    assertThat(drawn.rounds).isEqualTo(3);
    double flips = 0;
    Map<String, Integer> orders = new HashMap<>();
    double[] sums = new double[3];
    double[] least = {9, 9, 9};
    double[] most = new double[3];
    for (int i = 0; i < count; i++) {
      flips += numbers[i];
      StringBuilder order = new StringBuilder();
      for (int round = 0; round < 3; round++) {
        int position = count + 3 * round * count + i;
        float factor = numbers[position];
        // Factors of exactly 1, whose other weights are 0, are too unlikely to be drawn.
        int kind = numbers[position + count] != 0 ? 2 : numbers[position + 2 * count] != 0 ? 1 : 0;
        assertThat(numbers[position + count] + numbers[position + 2 * count])
            .isCloseTo(kind == 0 ? 0 : 1 - factor, within(1e-6f));
        order.append(kind);
        sums[kind] += factor;
        least[kind] = Math.min(least[kind], factor);
        most[kind] = Math.max(most[kind], factor);
      }
      orders.merge(order.toString(), 1, Integer::sum);
    }
    assertThat(flips / count).isCloseTo(0.25, within(0.01));
    assertThat(orders).hasSize(6).allSatisfy((order, n) -> assertThat(n).isBetween(9600, 10_400));
    assertThat(orders.keySet()).contains("012", "210");
    double[][] ranges = {{0.6, 1.4}, {0, 2.5}, {0.9, 1.1}};
    for (int kind = 0; kind < 3; kind++) {
      double width = ranges[kind][1] - ranges[kind][0];
      assertThat(least[kind]).isBetween(ranges[kind][0], ranges[kind][0] + width / 1000);
      assertThat(most[kind]).isBetween(ranges[kind][1] - width / 1000, ranges[kind][1] + 1e-6);
      assertThat(sums[kind] / count)
          .isCloseTo(ranges[kind][0] + width / 2, within(4 * width / Math.sqrt(12.0 * count)));
    }
  }

  @Test
  void stepsDoNotChangeTheDrawsOfEachOther() {
    float[] both = new TensorDraws(0.5, 0.4, 0, 0).draw(1, 2, range(100)).numbers;
    float[] flips = new TensorDraws(0.5, 0, 0, 0).draw(1, 2, range(100)).numbers;
    float[] colors = new TensorDraws(0, 0.4, 0, 0).draw(1, 2, range(100)).numbers;
    assertThat(Arrays.copyOf(both, 100)).isEqualTo(flips);
    assertThat(Arrays.copyOfRange(both, 100, 400)).isEqualTo(colors);
    assertThat(PLAIN.isRandom()).isFalse();
    assertThat(PLAIN.horizontalFlip(0.1).isRandom()).isTrue();
    assertThat(PLAIN.colorJitter(0, 0, 0.1).isRandom()).isTrue();
    assertThat(ALL.colorJitter(0, 0, 0).horizontalFlip(0).isRandom()).isFalse();
  }

  @Test
  void resultsBelongToTheScopeOrTheCaller() {
    Tensor images = images(2);
    long before = Pointer.totalCount();
    Tensor inScope;
    try (PointerScope scope = new PointerScope()) {
      inScope = ALL.apply(images, 1, 2, range(2));
      Tensor closed = ALL.apply(images, 1, 2, range(2));
      closed.close();
      assertThat(closed.isNull()).isTrue();
      assertThat(inScope.isNull()).isFalse();
    }
    assertThat(inScope.isNull()).isTrue();
    assertThat(Pointer.totalCount()).isLessThanOrEqualTo(before);
  }

  @Test
  void anEmptyBatchAndOtherLayoutsAreAccepted() {
    Tensor none = ALL.apply(images(2).narrow(0, 0, 0), 1, 2, new long[0]);
    assertThat(none.sizes().vec().get()).containsExactly(0, 3, HEIGHT, WIDTH);
    Tensor images = images(2);
    Tensor channelsLast = images.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2);
    assertThat(
            difference(ALL.apply(channelsLast, 1, 2, range(2)), ALL.apply(images, 1, 2, range(2))))
        .isLessThan(TOLERANCE);
  }

  @Test
  void wrongArgumentsAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImageTensorPlan.normalize(MEAN, new float[] {1, 0, 1}))
        .withMessage("std must not be 0, got [1.0, 0.0, 1.0]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImageTensorPlan.normalize(new float[2], STD))
        .withMessage("mean must have 3 numbers, got 2");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PLAIN.horizontalFlip(1.5))
        .withMessage("probability must be in [0, 1], got 1.5");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PLAIN.colorJitter(0, -1, 0))
        .withMessage("a factor must be in [0, 1e6), got -1.0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PLAIN.to(DType.UINT8))
        .withMessage("dtype must be FLOAT32, FLOAT16 or BFLOAT16, got UINT8");
    Tensor images = images(2);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PLAIN.apply(images.to(ScalarType.Float)))
        .withMessage("images must be uint8 [B, 3, height, width], got Float [2, 3, 23, 31]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PLAIN.apply(images.select(0, 0)))
        .withMessage("images must be uint8 [B, 3, height, width], got Byte [3, 23, 31]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ALL.apply(images.narrow(1, 0, 1), 1, 2, range(2)))
        .withMessageContaining("got Byte [2, 1, 23, 31]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ALL.apply(images, 1, 2, range(3)))
        .withMessage("there must be one index for each of 2 images, got 3");
    assertThatIllegalStateException()
        .isThrownBy(() -> ALL.apply(images))
        .withMessage("the plan has random steps: apply it with a seed, the epoch and the indices");
  }
}
