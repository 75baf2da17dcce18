// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static io.torchfeed.image.ImagePlanTest.golden;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.task.SampleRandom;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of steps in any order; image_steps_test.cc compares them with torchvision's. */
class ImageStepsTest {
  private static final int HEIGHT = 9;
  private static final int WIDTH = 14;

  private static ImagePlanBuilder builder() {
    return ImagePlan.builder().resize(HEIGHT, WIDTH);
  }

  private static byte[] row(ImagePlanBuilder builder, String image) {
    return row(builder, image, 3);
  }

  private static byte[] row(ImagePlanBuilder builder, String image, long index) {
    return ImagePlanTest.row(builder.build(), golden(image), 7, 2, index);
  }

  private static byte[] mirrored(byte[] planes) {
    byte[] mirrored = new byte[planes.length];
    for (int i = 0; i < planes.length; i++) {
      mirrored[i] = planes[i - i % WIDTH + WIDTH - 1 - i % WIDTH];
    }
    return mirrored;
  }

  @Test
  void stepsHappenInTheOrderOfTheCalls() {
    ImagePlanBuilder erased = builder().randomErasing(1, 0.1, 0.2, 9, 99, 199);
    byte[] expected = mirrored(row(erased, "420.jpg"));
    assertThat(row(builder().randomErasing(1, 0.1, 0.2, 9, 99, 199).horizontalFlip(1), "420.jpg"))
        .isEqualTo(expected);
    assertThat(row(builder().gaussianBlur(5, 2, 2).grayscale(), "420.jpg"))
        .isNotEqualTo(row(builder().grayscale().gaussianBlur(5, 2, 2), "420.jpg"));
  }

  @Test
  void aStepCanBeRepeated() {
    assertThat(row(builder().horizontalFlip(1).horizontalFlip(1), "420.jpg"))
        .isEqualTo(row(builder(), "420.jpg"));
    assertThat(row(builder().grayscale().horizontalFlip(1).grayscale(), "444.jpg"))
        .isEqualTo(mirrored(row(builder().grayscale().grayscale(), "444.jpg")));
    byte[] once = row(builder().randomErasing(1, 0.1, 0.1), "420.jpg");
    byte[] twice = row(builder().randomErasing(1, 0.1, 0.1).randomErasing(1, 0.1, 0.1), "420.jpg");
    for (int i = 0; i < once.length; i++) {
      assertThat(twice[i]).isIn(once[i], (byte) 0);
    }
    assertThat(twice).isNotEqualTo(once);
  }

  @Test
  void stepsThatAreNotAppliedDrawNothing() {
    SampleRandom random = new SampleRandom();
    boolean[] seen = new boolean[8];
    for (int index = 0; index < 80; index++) {
      random.begin(7, 2, index);
      boolean applied = happens(random, 0.6);
      boolean vertical = applied && happens(random, 0.5);
      boolean horizontal = happens(random, 0.5);
      random.end();
      ImagePlanBuilder expected =
          builder().verticalFlip(vertical ? 1 : 0).horizontalFlip(horizontal ? 1 : 0);
      if (applied) {
        expected.grayscale();
      }
      ImagePlanBuilder plan =
          builder()
              .randomApply(0.6, steps -> steps.verticalFlip(0.5).grayscale())
              .horizontalFlip(0.5);
      assertThat(row(plan, "444.jpg", index)).isEqualTo(row(expected, "444.jpg"));
      seen[(applied ? 4 : 0) + (vertical ? 2 : 0) + (horizontal ? 1 : 0)] = true;
    }
    assertThat(seen).containsExactly(true, true, false, false, true, true, true, true);
  }

  private static boolean happens(SampleRandom random, double probability) {
    return (random.nextInt() & 0xffffff) < (float) probability * (1 << 24);
  }

  /** The digest was computed by the parent of 28ab392, which sorted the steps of a plan. */
  @Test
  void stepsInTheFormerOrderMakeTheRowsOfBefore() throws NoSuchAlgorithmException {
    ImagePlan plan =
        ImagePlan.builder()
            .normalize(new float[3], new float[] {1, 1, 1})
            .randomResizedCrop(HEIGHT, WIDTH)
            .horizontalFlip(0.5)
            .colorJitter(0.4, 0.4, 0, 0.1)
            .randAugment(2, 9)
            .randomErasing(0.5, 0.1, 0.2, 1, 2, 3)
            .build();
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    for (int index = 0; index < 50; index++) {
      digest.update(ImagePlanTest.row(plan, golden("420.jpg"), 1, 0, index));
    }
    assertThat(HexFormat.of().formatHex(digest.digest()))
        .isEqualTo("ef3340fa5bedf4b35335a924fc419674d99e497f03b8cf81828253588df9d833");
  }

  @ParameterizedTest
  @CsvSource({"420.jpg,3,0.5", "grey.png,5,2", "rgba.png,9,1000", "444.jpg,17,1.3", "420.jpg,1,1"})
  void aBlurIsWithinOneLevelOfItsFormula(String image, int kernel, double sigma) {
    byte[] sharp = row(builder(), image);
    byte[] blurred = row(builder().gaussianBlur(kernel, sigma, sigma), image);
    int different = 0;
    for (int i = 0; i < sharp.length; i++) {
      long expected = Math.round(blurred(sharp, i, kernel, sigma));
      assertThat(blurred[i] & 0xff).isBetween((int) expected - 1, (int) expected + 1);
      different += (blurred[i] & 0xff) == expected ? 0 : 1;
    }
    assertThat(different).isLessThan(3);
  }

  /** Returns the sum of a square around a byte of three planes. */
  private static double blurred(byte[] planes, int place, int kernel, double sigma) {
    int plane = place - place % (HEIGHT * WIDTH);
    int row = place % (HEIGHT * WIDTH) / WIDTH;
    double sum = 0;
    double weights = 0;
    for (int y = -(kernel / 2); y <= kernel / 2; y++) {
      for (int x = -(kernel / 2); x <= kernel / 2; x++) {
        double weight = Math.exp(-(x * x + y * y) / (2 * sigma * sigma));
        int from = plane + inside(row + y, HEIGHT) * WIDTH + inside(place % WIDTH + x, WIDTH);
        sum += weight * (planes[from] & 0xff);
        weights += weight;
      }
    }
    return sum / weights;
  }

  private static int inside(int place, int side) {
    return side - 1 - Math.abs(side - 1 - Math.abs(place));
  }

  @Test
  void aBlurNeedsARowOfMoreThanHalfItsKernel() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                ImagePlan.builder()
                    .randomApply(0.1, steps -> steps.gaussianBlur(19, 1, 2))
                    .resize(9, 14)
                    .build())
        .withMessage(
            "the kernel of gaussianBlur must be smaller than twice each side of the row, 9x14, got"
                + " 19");
    ImagePlanBuilder one = ImagePlan.builder().resize(1, 1).gaussianBlur(1, 1, 2).grayscale();
    assertThat(row(one, "one_pixel.jpg")).hasSize(3);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ImagePlan.builder().resize(1, 1).gaussianBlur(3, 1, 2).build());
  }

  @Test
  void onlyStepsThatDrawMakeAPlanRandom() {
    assertThat(builder().grayscale().build().isRandom()).isFalse();
    assertThat(builder().randomGrayscale(0.1).build().isRandom()).isTrue();
    assertThat(builder().gaussianBlur(3, 1, 2).build().isRandom()).isTrue();
    assertThat(builder().randomApply(0.5, steps -> steps.grayscale()).build().isRandom()).isTrue();
    assertThat(builder().randomErasing(0.5).build().isRandom()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(ints = {Integer.MIN_VALUE, -1, 0, 2, 22, 256, 257, Integer.MAX_VALUE})
  void otherKernelsAreRefused(int kernel) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder().gaussianBlur(kernel, 1, 2))
        .withMessage("kernel must be odd and in [1, 255], got " + kernel);
  }

  @ParameterizedTest
  @CsvSource({"0,1", "-1,1", "2,1", "NaN,1", "1,NaN", "1,Infinity", "0.0009,1", "1,1001"})
  void otherStandardDeviationsAreRefused(double min, double max) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder().gaussianBlur(3, min, max))
        .withMessage(
            "sigmaMin and sigmaMax must be ascending in [0.001, 1000.0], got %s and %s"
                .formatted(min, max));
  }

  @ParameterizedTest
  @ValueSource(doubles = {-0.1, 1.1, Double.NaN})
  void otherProbabilitiesAreRefused(double probability) {
    List<Consumer<ImagePlanBuilder>> calls =
        List.of(
            plan -> plan.randomGrayscale(probability),
            plan -> plan.randomApply(probability, steps -> steps.grayscale()));
    for (Consumer<ImagePlanBuilder> call : calls) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> call.accept(builder()))
          .withMessage("probability must be in [0, 1], got " + probability);
    }
  }

  /** Adds steps inside of each other. */
  private static void nest(ImageSteps<?> steps, int depth) {
    if (depth == 0) {
      steps.horizontalFlip(1);
    } else {
      steps.randomApply(1, inner -> nest(inner, depth - 1));
    }
  }

  @Test
  void randomApplyHasFromOneToAThousandSteps() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder().randomApply(0.5, steps -> {}))
        .withMessage("randomApply must have from 1 to 1000 steps, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> nest(builder(), 1001))
        .withMessage("randomApply must have from 1 to 1000 steps, got 1001");
    ImagePlanBuilder deepest = builder();
    nest(deepest, 1000);
    assertThat(row(deepest, "420.jpg")).isEqualTo(mirrored(row(builder(), "420.jpg")));
  }

  @Test
  void stepsAreAddedUntilTheyEnd() {
    List<ImageSteps.Group> kept = new ArrayList<>();
    ImagePlanBuilder plan = builder().randomApply(1, steps -> kept.add(steps.grayscale()));
    assertThatIllegalStateException()
        .isThrownBy(() -> kept.get(0).grayscale())
        .withMessage("the steps of this randomApply have ended; add others to the plan");
    assertThatIllegalStateException()
        .isThrownBy(
            () ->
                plan.randomApply(
                    1,
                    steps -> {
                      steps.grayscale();
                      plan.build();
                    }))
        .withMessage("the plan was built before; begin with another builder");
    List<Runnable> calls =
        Arrays.asList(
            plan::grayscale,
            () -> plan.randomErasing(1),
            () -> plan.randomApply(1, steps -> steps.grayscale()));
    for (Runnable call : calls) {
      assertThatIllegalStateException().isThrownBy(call::run);
    }
  }
}
