// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Samples drawn by cycling over the classes, so that batches cover all classes however rare they
 * are ("equibatch").
 *
 * <p>Source: M. Berman, A. Rannen Triki, M. B. Blaschko, The Lovász-Softmax loss, CVPR 2018, of
 * which no reference implementation exists; the definition here is torchfeed's. The C classes that
 * have samples take turns in an order drawn for each epoch. Each draws from the list of its samples
 * in laps: a list is used up, in random order, before any of it repeats. A sample of several
 * classes stands in several lists. Then
 *
 * <ul>
 *   <li>any C consecutive positions serve each class once, hence also each global batch of at least
 *       C samples; smaller batches carry the cycle on;
 *   <li>a class of m samples repeats none in the m draws of a lap;
 *   <li>at any position the numbers of draws of two classes differ by 1 at most.
 * </ul>
 *
 * <p>The order depends on the position only, so {@link StridedSampler} deals it over any number of
 * ranks; {@link Cursor#seek} and an index cost O(1). The lists take 4 bytes for each sample and
 * class, an open cursor about as much again where lists are short. Values are torchfeed's own, the
 * same on every machine. Immutable; any number of threads may open cursors.
 */
public final class ClassCyclingSampler implements Sampler {
  private final ClassLists lists;
  private final long samples;
  private final long seed;
  private final boolean reshuffled;
  private final int distinctBatch;
  private final String hash;

  private ClassCyclingSampler(Builder builder) {
    this.lists = ClassLists.of(builder.classes, builder.classesOfSample, builder.ignored);
    this.samples = builder.samplesOf(lists);
    this.seed = builder.seed == null ? 0 : builder.seed;
    this.reshuffled = builder.reshuffled != null && builder.reshuffled;
    this.distinctBatch = builder.distinctBatch == null ? 0 : builder.distinctBatch;
    this.hash = lists.hash();
    if (distinctBatch > 0 && samples > IndexList.LONGEST) {
      throw new IllegalArgumentException(
          "distinctInBatch lists the epoch, so samples must be at most %d, got %d"
              .formatted(IndexList.LONGEST, samples));
    }
  }

  /**
   * Describes a plan for samples of one class each.
   *
   * @param classes number of classes, at least 1
   * @param labels the class of each sample, in [0, classes) or an ignored one; read by {@link
   *     Builder#build}
   * @return a builder
   */
  public static Builder ofLabels(int classes, int... labels) {
    int[][] sets = new int[labels.length][];
    for (int i = 0; i < sets.length; i++) {
      sets[i] = new int[] {labels[i]};
    }
    return new Builder(classes, sets);
  }

  /**
   * Describes a plan for samples of several classes each, or of none.
   *
   * @param classes number of classes, at least 1
   * @param classesOfSample the classes of each sample, in any order, each in [0, classes) or an
   *     ignored one; read by {@link Builder#build}
   * @return a builder
   */
  public static Builder ofClassSets(int classes, int[][] classesOfSample) {
    return new Builder(classes, classesOfSample);
  }

  /**
   * The classes that take turns.
   *
   * @return their numbers, ascending
   */
  public List<Integer> classes() {
    return lists.classes();
  }

  /**
   * The classes that were left out because no sample has them.
   *
   * @return their numbers, ascending
   */
  public List<Integer> emptyClasses() {
    return lists.emptyClasses();
  }

  @Override
  public long size() {
    return samples;
  }

  /**
   * Opens a cursor at the start of an epoch. The caller owns the cursor and closes it. With {@link
   * Builder#distinctInBatch} this computes the epoch, 4 bytes an index.
   *
   * @param epoch the number of the epoch, at least 0
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
    ClassCycle cycle = new ClassCycle(lists, seed, epoch, reshuffled);
    if (distinctBatch == 0) {
      return new ComputedCursor(this, samples, cycle::sampleAt);
    }
    int[] order = HeapMemory.planned(this, () -> cycle.distinct((int) samples, distinctBatch));
    return new ComputedCursor(this, samples, position -> order[(int) position]);
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
    return Orders.described(this);
  }

  /** The description of a plan. Each option may be set once. Not thread-safe. */
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
     * Classes that do not count, such as a void label; they may lie outside of [0, classes).
     *
     * @param numbers the numbers of the classes; may be called again for more
     * @return this builder
     */
    public Builder ignore(int... numbers) {
      for (int number : numbers) {
        ignored.add(number);
      }
      return this;
    }

    /**
     * What the order depends on, beside the epoch. Default 0.
     *
     * @param seed any number
     * @return this builder
     */
    public Builder seed(long seed) {
      this.seed = once("seed", this.seed, seed);
      return this;
    }

    /**
     * The length of an epoch. Default: the number of samples in the dataset.
     *
     * @param samples number of indices, in [0, 2<sup>62</sup>]
     * @return this builder
     */
    public Builder samples(long samples) {
      this.samples = once("samples", this.samples, Orders.requireSamples(samples));
      return this;
    }

    /**
     * Makes the epoch so long that the longest list is used up once: the number of classes times
     * its length.
     *
     * @param cover whether to do so; default false
     * @return this builder
     */
    public Builder coverLongestClass(boolean cover) {
      this.longestClass = once("coverLongestClass", this.longestClass, cover);
      return this;
    }

    /**
     * Draws a new order of the classes for each cycle. Then a class is served once in each C
     * positions that start at a multiple of C, and up to 2C - 1 positions lie between two visits.
     *
     * @param reshuffle whether to do so; default false
     * @return this builder
     */
    public Builder reshuffleEachCycle(boolean reshuffle) {
      this.reshuffled = once("reshuffleEachCycle", this.reshuffled, reshuffle);
      return this;
    }

    /**
     * Keeps the samples of a global batch distinct: one that came for another class already is
     * passed over for the next of its list. A list that is in the batch as a whole repeats. An open
     * cursor then holds the order of the epoch.
     *
     * @param globalBatch number of samples in a batch of all ranks together, at least 1
     * @return this builder
     * @throws IllegalArgumentException if {@code globalBatch} is less than 1
     */
    public Builder distinctInBatch(int globalBatch) {
      if (globalBatch < 1) {
        throw new IllegalArgumentException("globalBatch must be at least 1, got " + globalBatch);
      }
      this.distinctBatch = once("distinctInBatch", this.distinctBatch, globalBatch);
      return this;
    }

    /**
     * The plan.
     *
     * @return a new plan
     * @throws IllegalArgumentException if there are fewer than 1 classes, a class is outside of its
     *     range and not ignored (the message names the sample), no class has a sample, or both
     *     {@link #samples} and {@link #coverLongestClass} were given
     */
    public ClassCyclingSampler build() {
      if (samples != null && longestClass != null && longestClass) {
        throw new IllegalArgumentException(
            "the epoch has samples(%d) or covers the longest class, not both".formatted(samples));
      }
      return new ClassCyclingSampler(this);
    }

    private long samplesOf(ClassLists lists) {
      if (samples != null) {
        return samples;
      }
      return longestClass != null && longestClass
          ? (long) lists.count() * lists.longest()
          : lists.datasetSize();
    }

    private static <T> T once(String option, @Nullable T before, T value) {
      if (before != null) {
        throw new IllegalStateException(option + " was already set to " + before);
      }
      return value;
    }
  }
}
