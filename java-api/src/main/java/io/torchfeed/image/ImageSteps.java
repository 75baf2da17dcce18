// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static io.torchfeed.image.PlanArguments.requireProbability;
import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.torchfeed;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.DoubleStream;

/**
 * Steps that change an image of the size of the row, in the order of the calls; each may be added
 * any number of times, as in torchvision's {@code Compose}. An {@link ImagePlanBuilder} has them,
 * and a {@link #randomApply}. Not thread-safe.
 *
 * @param <S> the type of these steps
 */
public abstract sealed class ImageSteps<S extends ImageSteps<S>>
    permits ImagePlanBuilder, ImageSteps.Group {
  private final List<double[]> steps = new ArrayList<>();
  private boolean drawsNumbers;

  ImageSteps() {}

  /** The steps inside of {@link ImageSteps#randomApply}. */
  public static final class Group extends ImageSteps<Group> {
    private boolean hasEnded;

    private Group() {}

    @Override
    Group self() {
      return this;
    }

    @Override
    void requireOpen() {
      if (hasEnded) {
        throw new IllegalStateException(
            "the steps of this randomApply have ended; add others to the plan");
      }
    }
  }

  /**
   * Reflects images left-right: {@code RandomHorizontalFlip(probability)}.
   *
   * @param probability of a reflection, in [0, 1]
   * @return these steps
   * @throws IllegalArgumentException if it is out of range
   * @throws IllegalStateException if the plan was built before, or the {@code randomApply} has
   *     ended
   */
  public S horizontalFlip(double probability) {
    return event(torchfeed.kPlanHorizontalFlip, probability);
  }

  /**
   * Reflects images top-bottom: {@code RandomVerticalFlip(probability)}.
   *
   * @param probability of a reflection, in [0, 1]
   * @return these steps
   * @throws IllegalArgumentException if it is out of range
   * @throws IllegalStateException if the plan was built before, or the {@code randomApply} has
   *     ended
   */
  public S verticalFlip(double probability) {
    return event(torchfeed.kPlanVerticalFlip, probability);
  }

  /**
   * Changes the colors by random factors, in a random order: {@code ColorJitter(brightness,
   * contrast, saturation, hue)}, with the pixels of torchvision on uint8 tensors.
   *
   * @param brightness the largest difference of the factor from 1, in [0, 1e6); 0 for no change
   * @param contrast the same for the contrast
   * @param saturation the same for the saturation
   * @param hue the largest turn of the color circle, in [0, 0.5]; 0 for no change
   * @return these steps
   * @throws IllegalArgumentException if a number is out of range
   * @throws IllegalStateException if the plan was built before, or the {@code randomApply} has
   *     ended
   */
  public S colorJitter(double brightness, double contrast, double saturation, double hue) {
    return random(PlanArguments.jitter(brightness, contrast, saturation, hue));
  }

  /**
   * Applies random operations of one strength: {@code RandAugment(operations, magnitude)}, with the
   * pixels of torchvision on uint8 tensors.
   *
   * @param operations the number of operations, in [0, 100]; 2 in torchvision
   * @param magnitude the strength, in [0, 30]; 9 in torchvision
   * @return these steps
   * @throws IllegalArgumentException if a number is out of range
   * @throws IllegalStateException if the plan was built before, or the {@code randomApply} has
   *     ended
   */
  public S randAugment(int operations, int magnitude) {
    return random(PlanArguments.augment(operations, magnitude));
  }

  /**
   * Applies one random operation of random strength: {@code TrivialAugmentWide()}, with the pixels
   * of torchvision on uint8 tensors.
   *
   * @return these steps
   * @throws IllegalStateException if the plan was built before, or the {@code randomApply} has
   *     ended
   */
  public S trivialAugmentWide() {
    return random(torchfeed.kPlanTrivialAugmentWide, PlanArguments.BINS);
  }

  /**
   * Fills a random rectangle with a color: {@code RandomErasing(probability, (minArea, maxArea),
   * value=color)} of bytes.
   *
   * @param probability of a filled rectangle, in [0, 1]
   * @param minArea the smallest share of the area of the result, in [0, maxArea]
   * @param maxArea the largest share of the area of the result, in [minArea, 1]
   * @param color red, green and blue, each in [0, 255]
   * @return these steps
   * @throws IllegalArgumentException if a number is out of range, or there are not three colors
   * @throws IllegalStateException if the plan was built before, or the {@code randomApply} has
   *     ended
   */
  public S randomErasing(double probability, double minArea, double maxArea, int... color) {
    requireNonNull(color, "color");
    PlanArguments.requireColor(color);
    double[] erasing =
        PlanArguments.erasing(torchfeed.kPlanRandomErasing, probability, minArea, maxArea);
    return random(
        DoubleStream.concat(Arrays.stream(erasing), Arrays.stream(color).asDoubleStream())
            .toArray());
  }

  /**
   * Replaces the colors by three equal channels: {@code Grayscale(3)}, with the pixels of
   * torchvision on uint8 tensors.
   *
   * @return these steps
   * @throws IllegalStateException if the plan was built before, or the {@code randomApply} has
   *     ended
   */
  public S grayscale() {
    return add(torchfeed.kPlanGrayscale);
  }

  /**
   * Replaces the colors by three equal channels, at random: {@code RandomGrayscale(probability)},
   * with the pixels of torchvision on uint8 tensors.
   *
   * @param probability of a change, in [0, 1]
   * @return these steps
   * @throws IllegalArgumentException if it is out of range
   * @throws IllegalStateException if the plan was built before, or the {@code randomApply} has
   *     ended
   */
  public S randomGrayscale(double probability) {
    return event(torchfeed.kPlanRandomGrayscale, probability);
  }

  /**
   * Blurs images, reflected at their borders, with a random standard deviation: {@code
   * GaussianBlur(kernel, (sigmaMin, sigmaMax))}, with the pixels of {@code gaussian_blur} of
   * torchvision's {@code v2.functional} on uint8 tensors, on a processor with AVX2.
   *
   * <p><b>Cost.</b> A byte takes {@code 2 * kernel} multiplications, and {@code kernel * kernel}
   * more where it is uncertain how torchvision would round. With a standard deviation in proportion
   * to the kernel, that is one byte of a hundred for a kernel of 23, 4 for 51, 16 for 101, 35 for
   * 151 and every byte for 255: an image of 224 x 224 pixels took 3 ms more for 23, 13 ms for 51,
   * 170 ms for 101 and 800 ms for 151, on one of two busy processors. Weights that are nearly zero
   * add little: with a standard deviation of 2 pixels, 101 took 18 ms and 151 took 44 ms.
   *
   * @param kernel the side of the square of weights in pixels, odd, in [1, 255] and smaller than
   *     twice each side of the row, which {@link ImagePlanBuilder#build} requires
   * @param sigmaMin the least standard deviation in pixels, in [0.001, sigmaMax]
   * @param sigmaMax the largest standard deviation in pixels, in [sigmaMin, 1000]
   * @return these steps
   * @throws IllegalArgumentException if a number is out of range, or the kernel even
   * @throws IllegalStateException if the plan was built before, or the {@code randomApply} has
   *     ended
   */
  public S gaussianBlur(int kernel, double sigmaMin, double sigmaMax) {
    PlanArguments.requireBlur(kernel, sigmaMin, sigmaMax);
    return random(torchfeed.kPlanGaussianBlur, kernel, sigmaMin, sigmaMax);
  }

  /**
   * Applies steps to some images, all of them or none: {@code RandomApply(steps, probability)}.
   *
   * @param probability of the steps, in [0, 1]
   * @param steps adds from 1 to 1000 steps, those inside of another {@code randomApply} included;
   *     called once, at once
   * @return these steps
   * @throws IllegalArgumentException if the probability or the number of steps is out of range
   * @throws IllegalStateException if the plan was built before, or the {@code randomApply} has
   *     ended
   */
  public S randomApply(double probability, Consumer<Group> steps) {
    requireProbability(probability);
    requireNonNull(steps, "steps");
    requireOpen();
    Group group = new Group();
    steps.accept(group);
    group.hasEnded = true;
    List<double[]> added = ((ImageSteps<?>) group).steps;
    PlanArguments.requireApplied(added.size());
    S self = random(torchfeed.kPlanRandomApply, probability, added.size());
    this.steps.addAll(added);
    return self;
  }

  abstract S self();

  /** Throws if no steps can be added any more. */
  abstract void requireOpen();

  /** Returns the steps as numbers, see torchfeed/image_plan.h. */
  DoubleStream numbers() {
    return steps.stream().flatMapToDouble(Arrays::stream);
  }

  boolean drawsNumbers() {
    return drawsNumbers;
  }

  /** Returns the kernel of the widest blur. */
  int maxKernel() {
    return steps.stream()
        .filter(step -> step[0] == torchfeed.kPlanGaussianBlur)
        .mapToInt(step -> (int) step[1])
        .max()
        .orElse(1);
  }

  private S event(int number, double probability) {
    requireProbability(probability);
    return random(number, probability);
  }

  private S random(double... step) {
    S self = add(step);
    drawsNumbers = true;
    return self;
  }

  private S add(double... step) {
    requireOpen();
    steps.add(step);
    return self();
  }
}
