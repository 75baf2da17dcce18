// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static java.util.Objects.requireNonNull;

import java.util.Arrays;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The scores that a model gives to classes, and the classes of the samples, without those that are
 * ignored. Its tensors belong to the open scope.
 */
final class ClassScores {
  /** The target of a sample that does not count, as in {@code cross_entropy_loss} by default. */
  static final long IGNORED = -100;

  private static final torch.ScalarType LONG = torch.ScalarType.Long;

  private static final int MAX_VALUES = 1 << 20; // of a part that is copied to an array

  /** Real numbers {@code [n, classes]}, which may be part of a graph of gradients. */
  final Tensor scores;

  /** A class in [0, classes) for each of the n samples. */
  final long[] target;

  final int classes;

  private ClassScores(Tensor scores, long[] target, int classes) {
    this.scores = scores;
    this.target = target;
    this.classes = classes;
  }

  /** Returns whether an output has a score for each class, rather than a class or a score. */
  static boolean hasClasses(Tensor output, Tensor target) {
    return requireNonNull(output, "output").dim() == requireNonNull(target, "target").dim() + 1;
  }

  /**
   * Takes scores {@code [..., classes]} and targets {@code [...]}.
   *
   * @throws IllegalArgumentException if shapes or dtypes do not fit, there are less than 2 classes,
   *     or a target is out of range
   */
  static ClassScores of(Tensor output, Tensor target) {
    Values.requireReal("output", output);
    Values.requireWhole("target", target);
    long[] shape = output.shape();
    if (!hasClasses(output, target)
        || !Arrays.equals(Arrays.copyOf(shape, shape.length - 1), target.shape())) {
      throw new IllegalArgumentException(
          "output must be scores [..., classes] of a target [...], got %s and %s"
              .formatted(Values.describe(output), Values.describe(target)));
    }
    int classes = Math.toIntExact(shape[shape.length - 1]);
    if (classes < 2) {
      throw new IllegalArgumentException(
          "output must have the scores of at least 2 classes, got %s; of a model with one logit pass"
                  .formatted(Values.describe(output))
              + " output.squeeze(-1).gt(new Scalar(0)), or of one probability new Scalar(0.5)");
    }
    long[] all = Values.wholes(target);
    long[] counted = counted(all, classes);
    Tensor rows = shape.length == 2 ? output : output.reshape(all.length, classes);
    if (counted.length == all.length) {
      return new ClassScores(rows, all, classes);
    }
    Tensor kept = rows.detach().index_select(0, Tensor.create(counted).to(rows.device(), LONG));
    return new ClassScores(kept, Labels.select(all, counted), classes);
  }

  /** Returns the rows that count, after a check of all. */
  static long[] counted(long[] target, int classes) {
    long[] rows = new long[target.length];
    int count = 0;
    for (int row = 0; row < target.length; row++) {
      if (target[row] != IGNORED) {
        requireClass("target", target[row], row, classes);
        rows[count++] = row;
      }
    }
    return Arrays.copyOf(rows, count);
  }

  static void requireClass(String name, long value, int row, int classes) {
    if (value < 0 || value >= classes) {
      throw new IllegalArgumentException(
          "%s must be classes in [0, %d), or %d for a sample that does not count, got %d in row %d"
              .formatted(name, classes, IGNORED, value, row));
    }
  }

  /**
   * Returns how many classes come before the target of each sample: those with a higher score, and
   * of an equal score those with a lower number; all of them if a score of the sample is NaN.
   */
  long[] places() {
    boolean isLong = scores.scalar_type().intern() == LONG; // more digits than a double
    return scores.is_cpu() && !isLong ? placesOnHost() : placesOnDevice();
  }

  private long[] placesOnHost() {
    long[] places = new long[target.length];
    int step = Math.max(1, MAX_VALUES / classes);
    for (int from = 0; from < places.length; from += step) {
      int count = Math.min(step, places.length - from);
      double[] part = Values.reals(step < places.length ? scores.narrow(0, from, count) : scores);
      for (int row = 0; row < count; row++) {
        places[from + row] = place(part, row * classes, (int) target[from + row]);
      }
    }
    return places;
  }

  private long place(double[] all, int start, int of) {
    double own = all[start + of];
    int place = 0;
    for (int other = 0; other < classes; other++) {
      double score = all[start + other];
      if (Double.isNaN(score)) {
        return classes;
      }
      place += score > own || (score == own && other < of) ? 1 : 0;
    }
    return place;
  }

  long[] placesOnDevice() {
    if (target.length == 0) {
      return new long[0];
    }
    Tensor of = Tensor.create(target).to(scores.device(), LONG).unsqueeze(1);
    Tensor own = scores.gather(1, of);
    Tensor numbers = torch.arange(new Scalar(classes)).to(scores.device(), LONG);
    Tensor before = scores.gt(own).logical_or(scores.eq(own).logical_and(numbers.lt(of))).sum(1);
    long[] places = Values.wholes(before);
    long[] isNan = Values.wholes(scores.isnan().any(1));
    for (int row = 0; row < places.length; row++) {
      places[row] = isNan[row] == 1 ? classes : places[row];
    }
    return places;
  }

  /**
   * Returns the class with the highest score of each sample, the first of equal ones.
   *
   * @throws IllegalArgumentException if a score is NaN
   */
  long[] best() {
    if (target.length == 0) {
      return new long[0];
    }
    requireNoNan("output", scores);
    return Values.wholes(scores.argmax(new LongOptional(1), false));
  }

  static void requireNoNan(String name, Tensor tensor) {
    if (tensor.isnan().any().item_bool()) {
      throw new IllegalArgumentException(name + " must not have NaN, which has no order");
    }
  }
}
