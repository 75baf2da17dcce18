// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;
import static java.util.stream.Collectors.joining;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.internal.Checks;
import java.util.Arrays;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A transform that mixes each image of a batch, and its label, with the sample before it; the first
 * with the last.
 *
 * <pre>{@code
 * BatchTransform mix = BatchMix.mixUp(0.2, 1000).or(BatchMix.cutMix(1, 1000));
 * DataLoader loader =
 *     DataLoader.over(images)
 *         .sampler(ShuffledSampler.of(images.size(), 42))
 *         .batchSize(64)
 *         .seed(1) // of the mixing; the sampler shuffles
 *         .transform(mix)
 *         .build();
 * }</pre>
 *
 * <p>Column 0 has the images, {@code [B, ..., height, width]}. Column 1 has the labels, int64
 * {@code [B]}, and becomes the probabilities of the classes, float32 {@code [B, classes]}. Other
 * columns are left alone. The draw holds for the whole batch and depends only on the seed of the
 * loader, the epoch and the first sample of the batch, so it is the same with any number of workers
 * and after a resume. In validation, where nothing is mixed, labels remain int64; {@code
 * cross_entropy} takes both.
 *
 * <p>Source: {@code MixUp} and {@code CutMix} of torchvision 0.25, whose numbers it equals for the
 * same draws. Immutable and thread-safe.
 */
public final class BatchMix implements BatchTransform {
  /** Of each class of a sample: its one-hot vector in int64 and float32, rolled, and weighted. */
  private static final int BYTES_PER_CLASS = 8 + 3 * 4;

  /** The size below which querying the system's memory costs more than it is worth. */
  private static final long SMALL_BYTES = 64L << 20;

  private final int classes;
  private final Mix mix;

  /** Mixes images in place and returns the weight of their own labels. */
  private interface Mix {
    double apply(Tensor images, RandomGenerator random);
  }

  private BatchMix(int classes, Mix mix) {
    this.classes = classes;
    this.mix = mix;
  }

  /**
   * Returns a transform that adds up the images with the weights w and 1 - w, where w has the
   * distribution Beta(alpha, alpha): {@code MixUp(alpha, num_classes)}.
   *
   * @param alpha above 0 and finite as a float; 0.2 is usual, and 1 mixes more
   * @param classes the number of classes, at least 1
   * @return the transform, for images of floats
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static BatchMix mixUp(double alpha, int classes) {
    require(alpha, classes);
    return new BatchMix(
        classes,
        (images, random) -> {
          double weight = torchfeed.draw_mixup_weight(alpha, random.nextLong());
          addUp(images, weight);
          return weight;
        });
  }

  /**
   * Returns a transform that replaces a random rectangle of each image by the previous image's:
   * {@code CutMix(alpha, num_classes)}. Its share of the area has the distribution Beta(alpha,
   * alpha) but for its parts outside of the image.
   *
   * @param alpha above 0 and finite as a float; 1 is usual
   * @param classes the number of classes, at least 1
   * @return the transform, for images of any dtype
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static BatchMix cutMix(double alpha, int classes) {
    require(alpha, classes);
    return new BatchMix(
        classes,
        (images, random) -> {
          long[] box = new long[4];
          long height = images.size(images.dim() - 2);
          long width = images.size(images.dim() - 1);
          double weight = torchfeed.draw_cutmix_box(alpha, random.nextLong(), height, width, box);
          paste(images, box);
          return weight;
        });
  }

  /**
   * Returns a transform that applies this one to half of the batches, and another one to the other
   * half: {@code RandomChoice}.
   *
   * @param other a transform for the same number of classes
   * @return the transform
   * @throws IllegalArgumentException if the other one has another number of classes
   */
  public BatchMix or(BatchMix other) {
    if (requireNonNull(other, "other").classes != classes) {
      throw new IllegalArgumentException(
          "both transforms must have the same classes, got %d and %d"
              .formatted(classes, other.classes));
    }
    return new BatchMix(
        classes,
        (images, random) -> (random.nextBoolean() ? mix : other.mix).apply(images, random));
  }

  /**
   * Mixes a batch.
   *
   * @param tensors the images, the labels, and any others
   * @param random the random numbers of the batch
   * @return the images in the same memory, the probabilities of the classes, and the others
   * @throws IllegalArgumentException if the tensors are not images and labels, a label is not the
   *     number of a class, images that {@link #mixUp} has to add up are not floats, or the
   *     probabilities of the classes take more than the available memory
   */
  @Override
  public Tensor[] apply(Tensor[] tensors, RandomGenerator random) {
    requireNonNull(random, "random");
    requireNonNull(tensors, "tensors");
    Checks.requireNoNull("tensors", tensors);
    require(tensors);
    requireRoom(tensors[0].size(0));
    boolean isEmpty = tensors[0].size(0) == 0; // all of its samples were skipped
    double weight = isEmpty ? 1 : mix.apply(tensors[0], random);
    Tensor[] mixed = tensors.clone();
    mixed[1] = probabilities(tensors[1], classes, weight);
    return mixed;
  }

  private void require(Tensor[] tensors) {
    if (tensors.length < 2
        || tensors[0].dim() < 3
        || (tensors[0].numel() == 0 && tensors[0].size(0) > 0)
        || tensors[1].dim() != 1
        || tensors[1].size(0) != tensors[0].size(0)
        || tensors[1].scalar_type().intern() != ScalarType.Long) {
      throw new IllegalArgumentException(
          "column 0 must have images [B, ..., height, width], and column 1 int64 labels [B], got "
              + Stream.of(tensors).map(BatchMix::describe).collect(joining(" and ")));
    }
    if (tensors[1].numel() == 0) {
      return;
    }
    long least = tensors[1].min().item_long();
    long most = tensors[1].max().item_long();
    if (least < 0 || most >= classes) {
      throw new IllegalArgumentException(
          "labels must be at least 0 and less than the number of classes, %d, got %d"
              .formatted(classes, least < 0 ? least : most));
    }
  }

  private void requireRoom(long samples) {
    double bytes = (double) samples * classes * BYTES_PER_CLASS;
    if (bytes > SMALL_BYTES && bytes > Pointer.availablePhysicalBytes()) {
      throw new IllegalArgumentException(
          ("mixing %d labels of %d classes takes %.0f bytes, but %d of memory are available; give"
                  + " the number of classes of the labels, or mix smaller batches")
              .formatted(samples, classes, bytes, Pointer.availablePhysicalBytes()));
    }
  }

  private static String describe(Tensor tensor) {
    return "%s %s".formatted(tensor.scalar_type(), Arrays.toString(tensor.sizes().vec().get()));
  }

  private static void require(double alpha, int classes) {
    if (!((float) alpha > 0 && (float) alpha < Float.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "alpha must be above 0 and finite as a float, got " + alpha);
    }
    if (classes < 1) {
      throw new IllegalArgumentException("classes must be at least 1, got " + classes);
    }
  }

  /** Adds the images before, with the rest of the weight, in place. */
  static void addUp(Tensor images, double weight) {
    if (!images.is_floating_point()) {
      throw new IllegalArgumentException(
          "images to be added up must be floats, got %s; normalize them first"
              .formatted(images.scalar_type()));
    }
    Tensor before = images.roll(new long[] {1}, 0).mul_(new Scalar(1 - weight));
    images.mul_(new Scalar(weight)).add_(before);
  }

  /**
   * Copies a rectangle from the images before, in place.
   *
   * @param box its top, left, height and width
   */
  static void paste(Tensor images, long... box) {
    Tensor part =
        images.narrow(images.dim() - 2, box[0], box[2]).narrow(images.dim() - 1, box[1], box[3]);
    part.copy_(part.roll(new long[] {1}, 0));
  }

  /** Returns the probabilities of the classes, float32 {@code [B, classes]}. */
  static Tensor probabilities(Tensor labels, int classes, double weight) {
    Tensor own = torch.one_hot(labels, classes).to(ScalarType.Float);
    return own.roll(new long[] {1}, 0)
        .mul_(new Scalar(1 - weight))
        .add_(own.mul(new Scalar(weight)));
  }
}
