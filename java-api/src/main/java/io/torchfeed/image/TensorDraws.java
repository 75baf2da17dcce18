// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import io.torchfeed.internal.CounterRandom;
import io.torchfeed.internal.Hash64;

/**
 * The random steps of an {@link ImageTensorPlan}. Each image has its own random words, and each
 * draw a fixed one of them, so that no step changes the draws of another.
 *
 * @param flipProbability of a reflection; 0 for none
 * @param brightness the largest difference of its factor from 1; 0 for no change
 * @param contrast the same for the contrast
 * @param saturation the same for the saturation
 */
record TensorDraws(double flipProbability, double brightness, double contrast, double saturation) {
  static final TensorDraws NONE = new TensorDraws(0, 0, 0, 0);
  static final Drawn NOTHING = new Drawn(new float[0], false, 0, false);

  private static final long SALT = 0x746e_736f_7220_696dL;
  private static final int FLIP = 0; // the numbers of the words
  private static final int ORDER = 1;

  /** The operations of an image's colors; each adds something to the scaled image. */
  enum Operation {
    BRIGHTNESS(2),
    CONTRAST(3),
    SATURATION(4);

    /** The number of the word that decides the factor. */
    private final int word;

    Operation(int word) {
      this.word = word;
    }
  }

  /** A step of one image, by a factor. */
  record Change(Operation operation, double factor) {}

  /** Draws of a batch of B images. */
  static final class Drawn {
    /**
     * 1 for each image that is reflected, B in all, if there are flips; then for each round the
     * weights of the images, of their grey images and of the means of those, B of each.
     */
    final float[] numbers;

    final boolean hasFlips;

    /** The number of operations on each image. */
    final int rounds;

    /** False if all weights of grey images and their means are 0. */
    final boolean usesGrey;

    Drawn(float[] numbers, boolean hasFlips, int rounds, boolean usesGrey) {
      this.numbers = numbers;
      this.hasFlips = hasFlips;
      this.rounds = rounds;
      this.usesGrey = usesGrey;
    }
  }

  TensorDraws flipping(double probability) {
    return new TensorDraws(probability, brightness, contrast, saturation);
  }

  TensorDraws jittering(double newBrightness, double newContrast, double newSaturation) {
    return new TensorDraws(flipProbability, newBrightness, newContrast, newSaturation);
  }

  boolean isRandom() {
    return flipProbability > 0 || rounds() > 0;
  }

  private double range(Operation operation) {
    return switch (operation) {
      case BRIGHTNESS -> brightness;
      case CONTRAST -> contrast;
      case SATURATION -> saturation;
    };
  }

  private int rounds() {
    int rounds = 0;
    for (Operation operation : Operation.values()) {
      rounds += range(operation) > 0 ? 1 : 0;
    }
    return rounds;
  }

  Drawn draw(long seed, long epoch, long[] indices) {
    boolean[] flips = new boolean[flipProbability > 0 ? indices.length : 0];
    Change[][] changes = new Change[indices.length][];
    long epochKey = CounterRandom.key(SALT, seed, epoch);
    for (int i = 0; i < indices.length; i++) {
      long key = Hash64.mix(epochKey ^ (indices[i] + Hash64.GAMMA));
      if (flips.length > 0) {
        flips[i] = CounterRandom.unit(CounterRandom.word(key, FLIP)) < flipProbability;
      }
      changes[i] = changes(key);
    }
    return drawn(flips, changes, rounds());
  }

  /** Draws the order of the operations and their factors, each equally likely. */
  private Change[] changes(long key) {
    Change[] changes = new Change[rounds()];
    int count = 0;
    for (Operation operation : Operation.values()) {
      double range = range(operation);
      if (range > 0) {
        double least = Math.max(0, 1 - range);
        double unit = CounterRandom.unit(CounterRandom.word(key, operation.word));
        changes[count++] = new Change(operation, least + unit * (1 + range - least));
      }
    }
    long order = CounterRandom.below(CounterRandom.word(key, ORDER), 6);
    for (int i = changes.length; i > 1; i--) { // Fisher and Yates; 6 orders divide by 2 and by 3
      int other = (int) (order % i);
      order /= i;
      Change last = changes[i - 1];
      changes[i - 1] = changes[other];
      changes[other] = last;
    }
    return changes;
  }

  /**
   * Returns the numbers for given steps.
   *
   * @param flips whether each image is reflected; empty for none
   * @param changes the steps of each image, as many for each
   */
  static Drawn drawn(boolean[] flips, Change[][] changes, int rounds) {
    int count = changes.length;
    float[] numbers = new float[flips.length + 3 * rounds * count];
    boolean usesGrey = false;
    for (int i = 0; i < flips.length; i++) {
      numbers[i] = flips[i] ? 1 : 0;
    }
    for (int round = 0; round < rounds; round++) {
      int position = flips.length + 3 * round * count;
      for (int i = 0; i < count; i++) {
        Change change = changes[i][round];
        numbers[position + i] = (float) change.factor();
        float rest = (float) (1 - change.factor());
        usesGrey |= change.operation() != Operation.BRIGHTNESS;
        if (change.operation() == Operation.SATURATION) {
          numbers[position + count + i] = rest;
        } else if (change.operation() == Operation.CONTRAST) {
          numbers[position + 2 * count + i] = rest;
        }
      }
    }
    return new Drawn(numbers, flips.length > 0, rounds, usesGrey);
  }
}
