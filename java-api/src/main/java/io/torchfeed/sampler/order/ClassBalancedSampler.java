// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.HeapMemory;
import io.torchfeed.internal.IndexList;
import io.torchfeed.internal.Once;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.ComputedCursor;
import io.torchfeed.sampler.cursor.PlanChecks;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A sampler that cycles over the classes, so that batches cover all classes, however rare
 * ("equibatch").
 *
 * <p>Source: M. Berman, A. Rannen Triki, M. B. Blaschko, The Lovász-Softmax loss, CVPR 2018,
 * without a reference implementation; the definition here is torchfeed's. The C classes that have
 * samples take turns in an order drawn for each epoch. Each class draws from the list of its
 * samples in laps: a list is used up, in random order, before any of its samples repeats. A sample
 * of several classes is in several lists. Therefore:
 *
 * <ul>
 *   <li>any C consecutive positions serve each class once, so each global batch of at least C
 *       samples covers every class; smaller batches continue the cycle;
 *   <li>a class of m samples repeats none within the m draws of a lap;
 *   <li>at any position the numbers of draws of two classes differ by at most 1.
 * </ul>
 *
 * <p>Laps restart in each epoch, since the order of an epoch depends on its number alone. An epoch
 * with fewer draws of a class than the class has samples delivers a random subset of them, so some
 * samples may come several times before others come at all; {@link Builder#coverLongestClass} makes
 * every epoch deliver every sample that has a class. Samples without a class are never delivered:
 * see {@link #samplesWithoutClass}.
 *
 * <p>The order depends on the position only, so {@link StridedSampler} can distribute it over any
 * number of ranks; {@link io.torchfeed.sampler.Seekable#seek} and reading an index cost O(1). The
 * lists take 4 bytes per pair of sample and class, and an open cursor about as much again if lists
 * are short. The values are torchfeed's own, the same on every machine. Immutable; any number of
 * threads may open cursors.
 */
public final class ClassBalancedSampler implements Sampler {
  private final ClassLists lists;
  private final long samples;
  private final long seed;
  private final boolean reshuffled;
  private final int distinctBatch;
  private final String hash;

  private ClassBalancedSampler(Builder builder) {
    this.lists = ClassLists.of(builder.classes, builder.classesOfSample, builder.ignored);
    this.samples = builder.samplesOf(lists);
    this.seed = builder.seed == null ? 0 : builder.seed;
    this.reshuffled = builder.reshuffled != null && builder.reshuffled;
    this.distinctBatch = builder.distinctBatch == null ? 0 : builder.distinctBatch;
    this.hash = lists.hash();
    if (distinctBatch > 0 && samples > IndexList.MAX_SIZE) {
      throw new IllegalArgumentException(
          "distinctInBatch holds the epoch as a list, so samples must be at most %d, got %d"
              .formatted(IndexList.MAX_SIZE, samples));
    }
  }

  /**
   * Returns a builder of a plan for samples of one class each.
   *
   * @param classes number of classes, at least 1
   * @param labels the class of each sample, in [0, classes) or an ignored one; read by {@link
   *     Builder#build}
   * @return a builder
   */
  public static Builder ofLabels(int classes, int... labels) {
    int[][] sets = new int[requireNonNull(labels, "labels").length][];
    for (int i = 0; i < sets.length; i++) {
      sets[i] = new int[] {labels[i]};
    }
    return new Builder(classes, sets);
  }

  /**
   * Returns a builder of a plan for samples of several classes each, or of none.
   *
   * @param classes number of classes, at least 1
   * @param classesOfSample the classes of each sample, in any order, each in [0, classes) or an
   *     ignored one; an empty array for none; read by {@link Builder#build}
   * @return a builder
   */
  public static Builder ofClassSets(int classes, int[][] classesOfSample) {
    return new Builder(classes, requireNonNull(classesOfSample, "classesOfSample"));
  }

  /**
   * Returns the classes that take turns.
   *
   * @return their numbers, ascending
   */
  public List<Integer> classes() {
    return lists.classes();
  }

  /**
   * Returns the classes that were left out because no sample has them.
   *
   * @return their numbers, ascending
   */
  public List<Integer> emptyClasses() {
    return lists.emptyClasses();
  }

  /**
   * Returns the samples that are never delivered because they have no class, or only ignored ones.
   * They still count towards the default length of an epoch.
   *
   * @return their dataset indices, ascending; a new array
   */
  public int[] samplesWithoutClass() {
    return lists.samplesWithoutClass();
  }

  @Override
  public long size() {
    return samples;
  }

  /**
   * Opens a cursor at the start of an epoch. The caller owns the cursor and closes it. With {@link
   * Builder#distinctInBatch} this computes the whole epoch, at 4 bytes per index.
   *
   * @param epoch the number of the epoch, at least 0
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  @Override
  public Cursor epoch(long epoch) {
    Checks.requireEpoch(epoch);
    ClassCycle cycle = new ClassCycle(lists, seed, epoch, reshuffled);
    if (distinctBatch == 0) {
      return new ComputedCursor(this, samples, cycle::sampleAt);
    }
    int[] order = HeapMemory.planned(this, () -> cycle.distinct((int) samples, distinctBatch));
    return new ComputedCursor(this, samples, position -> order[(int) position]);
  }

  /**
   * {@inheritDoc}
   *
   * @return the number of samples that have labels or sets of classes
   */
  @Override
  public DatasetSize madeFor() {
    return DatasetSize.of(lists.datasetSize());
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("seekable.ClassCyclingSampler")
        .with("classes", hash)
        .with("samples", samples)
        .with("seed", seed)
        .with("reshuffleEachCycle", reshuffled)
        .with("distinctInBatch", distinctBatch);
  }

  @Override
  public String toString() {
    return PlanChecks.described(this);
  }

  /** A builder of a plan. Each option may be set once. Not thread-safe. */
  public static final class Builder {
    private final int classes;
    private final int[][] classesOfSample;
    private final Set<Integer> ignored = new HashSet<>();
    private @Nullable Long samples;
    private @Nullable Boolean longestClass;
    private @Nullable Long seed;
    private @Nullable Boolean reshuffled;
    private @Nullable Integer distinctBatch;

    private Builder(int classes, int[][] classesOfSample) {
      this.classes = classes;
      this.classesOfSample = classesOfSample;
    }

    /**
     * Ignores classes, such as a void label; they may lie outside [0, classes).
     *
     * @param numbers the numbers of the classes; further calls add to them
     * @return this builder
     */
    public Builder ignore(int... numbers) {
      for (int number : requireNonNull(numbers, "numbers")) {
        ignored.add(number);
      }
      return this;
    }

    /**
     * Sets the seed: the order depends on it and on the epoch. Default 0.
     *
     * @param seed any number
     * @return this builder
     */
    public Builder seed(long seed) {
      this.seed = Once.set("seed", this.seed, seed);
      return this;
    }

    /**
     * Sets the length of an epoch. Default: the number of samples in the dataset. Laps restart in
     * each epoch, so an epoch shorter than {@link #coverLongestClass} sets leaves samples out.
     *
     * @param samples number of indices, in [0, 2<sup>62</sup>]
     * @return this builder
     */
    public Builder samples(long samples) {
      this.samples = Once.set("samples", this.samples, PlanChecks.requireSamples(samples));
      return this;
    }

    /**
     * Makes the epoch just long enough for the longest list to be used up once: the number of
     * classes times its length.
     *
     * @param cover whether to do so; default false
     * @return this builder
     */
    public Builder coverLongestClass(boolean cover) {
      this.longestClass = Once.set("coverLongestClass", this.longestClass, cover);
      return this;
    }

    /**
     * Draws a new order of the classes for each cycle. A class is then served once in each C
     * positions that start at a multiple of C, and two visits are up to 2C - 1 positions apart.
     *
     * @param reshuffle whether to do so; default false
     * @return this builder
     */
    public Builder reshuffleEachCycle(boolean reshuffle) {
      this.reshuffled = Once.set("reshuffleEachCycle", this.reshuffled, reshuffle);
      return this;
    }

    /**
     * Keeps the samples of a global batch distinct: a sample that has already come for another
     * class is skipped for the next one of its list. A list that is entirely in the batch repeats.
     * An open cursor then holds the order of the epoch, and opening it takes 8 more bytes per
     * sample and 4 per pair of sample and class.
     *
     * @param globalBatch number of samples in a batch of all ranks together, at least 1
     * @return this builder
     * @throws IllegalArgumentException if {@code globalBatch} is less than 1
     */
    public Builder distinctInBatch(int globalBatch) {
      if (globalBatch < 1) {
        throw new IllegalArgumentException("globalBatch must be at least 1, got " + globalBatch);
      }
      this.distinctBatch = Once.set("distinctInBatch", this.distinctBatch, globalBatch);
      return this;
    }

    /**
     * Builds the plan.
     *
     * @return a new plan
     * @throws IllegalArgumentException if the number of classes is less than 1, a class is out of
     *     range and not ignored (the message names the sample), no class has a sample, or both
     *     {@link #samples} and {@link #coverLongestClass} were set
     */
    public ClassBalancedSampler build() {
      if (samples != null && longestClass != null && longestClass) {
        throw new IllegalArgumentException(
            "set either samples(%d) or coverLongestClass(true), not both".formatted(samples));
      }
      return new ClassBalancedSampler(this);
    }

    private long samplesOf(ClassLists lists) {
      if (samples != null) {
        return samples;
      }
      return longestClass != null && longestClass
          ? (long) lists.count() * lists.longest()
          : lists.datasetSize();
    }
  }
}
