// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static io.torchfeed.image.PlanArguments.CHANNELS;
import static io.torchfeed.image.PlanArguments.requireFactor;
import static io.torchfeed.image.PlanArguments.requireNormalization;
import static io.torchfeed.image.PlanArguments.requireProbability;
import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.memory.DType;
import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The steps from a batch of images in bytes to the input of a model: flip, colors, normalize. The
 * operations are libtorch's and run where the batch is, so that a quarter of the bytes of floats is
 * sent to a GPU.
 *
 * <pre>{@code
 * ImageTensorPlan plan =
 *     ImageTensorPlan.normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
 *         .horizontalFlip(0.5)
 *         .colorJitter(0.4, 0.4, 0.4);
 * for (Batch batch : loader.epoch(epoch)) { // an ImagePlan without normalize, .device("cuda:0")
 *   try (Tensor images = plan.apply(batch.tensor(0), seed, epoch, batch.indices())) {
 *     ...
 *   }
 * }
 * }</pre>
 *
 * <p>The steps have this order and the formulas of torchvision 0.25 on float tensors: {@code
 * ToDtype(float32, scale=True)}, {@code RandomHorizontalFlip}, {@code ColorJitter}, {@code
 * Normalize}. A plan to float32 that does not change colors makes the bits of {@link
 * ImagePlanBuilder#normalize}. Changed colors, which are not rounded to bytes as by {@link
 * ImagePlanBuilder#colorJitter}, differ from torchvision's on the CPU by less than 1e-6, once
 * normalized with the numbers of ImageNet and by factors up to 9.
 *
 * <p>The draws for an image depend only on seed, epoch and index, not on the other images of the
 * batch, and are independent of an {@link ImagePlan}'s draws for the same numbers. Immutable and
 * thread-safe.
 */
public final class ImageTensorPlan {
  private static final float BYTE_SCALE = 1 / 255f;

  // The weights of red, green and blue in torchvision's grey.
  private static final double RED = 0.2989;
  private static final double GREEN = 0.587;
  private static final double BLUE = 0.114;

  private final float[] mean;
  private final float[] std;
  private final DType dtype;
  private final TensorDraws draws;

  private ImageTensorPlan(float[] mean, float[] std, DType dtype, TensorDraws draws) {
    this.mean = mean;
    this.std = std;
    this.dtype = dtype;
    this.draws = draws;
  }

  /**
   * Returns a plan without random steps, to float32: {@code (x / 255 - mean) / std} for each
   * channel.
   *
   * @param mean 3 finite numbers, for red, green and blue
   * @param std 3 finite numbers other than 0
   * @return the plan
   * @throws IllegalArgumentException if there are not 3 numbers, or one is out of range
   */
  public static ImageTensorPlan normalize(float[] mean, float[] std) {
    requireNonNull(std, "std");
    requireNormalization(mean, std);
    return new ImageTensorPlan(mean.clone(), std.clone(), DType.FLOAT32, TensorDraws.NONE);
  }

  /**
   * Returns the same plan with a step that reflects images left-right; replaces an earlier one.
   *
   * @param probability of a reflection, in [0, 1]
   * @return the plan
   * @throws IllegalArgumentException if it is out of range
   */
  public ImageTensorPlan horizontalFlip(double probability) {
    requireProbability(probability);
    return new ImageTensorPlan(mean, std, dtype, draws.flipping(probability));
  }

  /**
   * Returns the same plan with a step that changes the colors by random factors, in a random order
   * for each image; replaces an earlier one: {@code ColorJitter(brightness, contrast, saturation)}.
   *
   * @param brightness the largest difference of the factor from 1, in [0, 1e6); 0 for no change
   * @param contrast the same for the contrast
   * @param saturation the same for the saturation
   * @return the plan
   * @throws IllegalArgumentException if a number is out of range
   */
  public ImageTensorPlan colorJitter(double brightness, double contrast, double saturation) {
    requireFactor(brightness);
    requireFactor(contrast);
    requireFactor(saturation);
    return new ImageTensorPlan(mean, std, dtype, draws.jittering(brightness, contrast, saturation));
  }

  /**
   * Returns the same plan to another dtype; the results of float32 are rounded to it.
   *
   * @param dtype FLOAT32, FLOAT16 or BFLOAT16
   * @return the plan
   * @throws IllegalArgumentException if it is another one
   */
  public ImageTensorPlan to(DType dtype) {
    requireNonNull(dtype, "dtype");
    if (dtype != DType.FLOAT32 && dtype != DType.FLOAT16 && dtype != DType.BFLOAT16) {
      throw new IllegalArgumentException(
          "dtype must be FLOAT32, FLOAT16 or BFLOAT16, got " + dtype);
    }
    return new ImageTensorPlan(mean, std, dtype, draws);
  }

  /**
   * Returns whether a step is random, so that results depend on seed, epoch and indices.
   *
   * @return true if the plan draws random numbers
   */
  public boolean isRandom() {
    return draws.isRandom();
  }

  /**
   * Computes a batch. On a CUDA device, the work is enqueued on the current stream of the calling
   * thread, and the host waits neither for it nor for the copy of the draws, which goes through
   * page-locked memory.
   *
   * @param images uint8 {@code [B, 3, height, width]}, on any device; not changed
   * @param seed the seed of the draws, for example the loader's
   * @param epoch the epoch
   * @param indices the index of each image in the dataset, {@code Batch.indices()}
   * @return a new tensor of the same shape on the same device, in the dtype of the plan. It belongs
   *     to the innermost {@code PointerScope} of the thread, or otherwise to the caller.
   * @throws IllegalArgumentException if the tensor has another dtype or shape, or there is not one
   *     index for each image
   */
  public Tensor apply(Tensor images, long seed, long epoch, long[] indices) {
    requireNonNull(images, "images");
    requireNonNull(indices, "indices");
    requireImages(images);
    if (indices.length != images.size(0)) {
      throw new IllegalArgumentException(
          "there must be one index for each of %d images, got %d"
              .formatted(images.size(0), indices.length));
    }
    return apply(images, draws.draw(seed, epoch, indices));
  }

  /**
   * Computes a batch by a plan without random steps, for example to validate.
   *
   * @param images uint8 {@code [B, 3, height, width]}, on any device; not changed
   * @return a new tensor as from {@link #apply(Tensor, long, long, long[])}
   * @throws IllegalArgumentException if the tensor has another dtype or shape
   * @throws IllegalStateException if the plan draws random numbers
   */
  public Tensor apply(Tensor images) {
    requireNonNull(images, "images");
    if (isRandom()) {
      throw new IllegalStateException(
          "the plan has random steps: apply it with a seed, the epoch and the indices");
    }
    requireImages(images);
    return apply(images, TensorDraws.NOTHING);
  }

  private static void requireImages(Tensor images) {
    if (images.dim() != 4
        || images.size(1) != CHANNELS
        || images.scalar_type().intern() != ScalarType.Byte) {
      throw new IllegalArgumentException(
          "images must be uint8 [B, 3, height, width], got %s %s"
              .formatted(
                  images.scalar_type().intern(), Arrays.toString(images.sizes().vec().get())));
    }
  }

  /** Computes a batch with given draws. */
  Tensor apply(Tensor images, TensorDraws.Drawn drawn) {
    Tensor result = NativeHandle.outsideOfScopes(() -> compute(images, drawn));
    PointerScope callers = PointerScope.getInnerScope();
    if (callers != null) {
      callers.attach(result);
      result.releaseReference(); // the scope has one
    }
    return result;
  }

  private Tensor compute(Tensor images, TensorDraws.Drawn drawn) {
    long count = images.size(0);
    // All numbers are in one tensor, which one copy sends to the device.
    float[] numbers = new float[2 * CHANNELS + drawn.numbers.length];
    System.arraycopy(mean, 0, numbers, 0, CHANNELS);
    System.arraycopy(std, 0, numbers, CHANNELS, CHANNELS);
    System.arraycopy(drawn.numbers, 0, numbers, 2 * CHANNELS, drawn.numbers.length);
    Tensor sent = send(numbers, images);
    long position = 2 * CHANNELS;
    Tensor upright = images;
    if (drawn.hasFlips) {
      Tensor isFlipped = sent.narrow(0, position, count).view(count, 1, 1, 1).gt(new Scalar(0.5f));
      position += count;
      upright = torch.where(isFlipped, images.flip(3), images);
    }
    Tensor pixels = upright.to(ScalarType.Float).mul_(new Scalar(BYTE_SCALE));
    for (int round = 0; round < drawn.rounds; round++) {
      mix(pixels, sent.narrow(0, position, 3 * count).view(3, count, 1, 1, 1), drawn.usesGrey);
      position += 3 * count;
    }
    Tensor normalized =
        pixels
            .sub_(sent.narrow(0, 0, CHANNELS).view(1, CHANNELS, 1, 1))
            .div_(sent.narrow(0, CHANNELS, CHANNELS).view(1, CHANNELS, 1, 1));
    return dtype == DType.FLOAT32 ? normalized : normalized.to(dtype.scalarType());
  }

  /**
   * Adds up each image, its grey image and the mean of that by weights, as many as images: in a
   * round, each image may have another operation.
   */
  private static void mix(Tensor pixels, Tensor weights, boolean usesGrey) {
    Tensor grey = usesGrey ? grey(pixels) : pixels;
    pixels.mul_(weights.select(0, 0));
    if (usesGrey) {
      Tensor mean = grey.mean(new long[] {1, 2, 3}, true, new ScalarTypeOptional());
      pixels.addcmul_(grey, weights.select(0, 1)).addcmul_(mean, weights.select(0, 2));
    }
    pixels.clamp_(new ScalarOptional(new Scalar(0f)), new ScalarOptional(new Scalar(1f)));
  }

  private static Tensor grey(Tensor pixels) {
    return pixels
        .select(1, 0)
        .mul(new Scalar(RED))
        .add_(pixels.select(1, 1), new Scalar(GREEN))
        .add_(pixels.select(1, 2), new Scalar(BLUE))
        .unsqueeze(1);
  }

  private static Tensor send(float[] numbers, Tensor images) {
    Tensor host = Tensor.create(numbers);
    Device device = images.device();
    if (device.is_cpu()) {
      return host;
    }
    // libtorch keeps page-locked memory until the copy is complete.
    boolean isAsynchronous = device.is_cuda();
    return (isAsynchronous ? host.pin_memory() : host)
        .to(device, ScalarType.Float, isAsynchronous, false, new MemoryFormatOptional());
  }
}
