// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.ContentHash;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.PlanChecks;
import io.torchfeed.sampler.cursor.PositionCursor;
import java.util.ArrayList;
import java.util.List;

/**
 * A sampler that mixes several sources in fixed proportions; the source of each position is
 * determined by counting, not by chance.
 *
 * <p>Sources with the weights 7, 2 and 1 are drawn from 7, 2 and 1 times in every 10 consecutive
 * positions that start at a multiple of 10. In between, a source with share s, one of k, has been
 * drawn from s·p times in the first p positions, to within 1/2 + s·(k-2)/2 draws. (Grain and
 * tf.data's {@code sample_from_datasets} draw the source at random or mix by rounded proportions.)
 *
 * <p>Each source keeps its own order and starts at its beginning in every epoch. If an epoch runs
 * through a source more than once, the laps are different epochs of the source: with L laps per
 * epoch, lap l of epoch e is its epoch e·L + l; the last lap may be cut short. Any position is
 * found directly, in O(k) for consecutive positions and in O(k<sup>2</sup>) otherwise; a cursor
 * holds one epoch of each source. Immutable; any number of threads may open cursors.
 */
public final class MixedSampler implements Sampler {
  private final List<Source> sources;
  private final long[] weights;
  private final MixSchedule schedule;
  private final long samples;
  private final String hash;
  private final int depth;

  private MixedSampler(List<Source> sources, long[] weights, Length length, long samples) {
    this.sources = Checks.copyOf("sources", sources);
    this.weights = weights.clone();
    check();
    this.schedule = new MixSchedule(this.weights);
    this.samples = length == Length.GIVEN ? PlanChecks.requireSamples(samples) : length(length);
    this.hash = Source.hash(this.sources);
    this.depth = Source.depth(this.sources);
  }

  /**
   * Creates a plan whose epochs end at the first draw from a source that has no sample left; no
   * sample comes twice.
   *
   * @param sources the plans, at least one, none empty; copied
   * @param weights one weight per source, each at least 1, with a sum of at most 2<sup>30</sup>;
   *     copied
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static MixedSampler untilFirstExhausted(List<Source> sources, long... weights) {
    requireNonNull(weights, "weights");
    return new MixedSampler(sources, weights, Length.FIRST_EXHAUSTED, 0);
  }

  /**
   * Creates a plan whose epochs end when every sample of every source has been seen; the shorter
   * sources are repeated.
   *
   * @param sources the plans, at least one, none empty; copied
   * @param weights one weight per source, each at least 1, with a sum of at most 2<sup>30</sup>;
   *     copied
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range, or the epoch has more
   *     than 2<sup>62</sup> positions
   */
  public static MixedSampler untilAllExhausted(List<Source> sources, long... weights) {
    requireNonNull(weights, "weights");
    return new MixedSampler(sources, weights, Length.ALL_EXHAUSTED, 0);
  }

  /**
   * Creates a plan with epochs of a given length; sources that run out before the end are repeated.
   *
   * @param samples number of positions of an epoch, in [0, 2<sup>62</sup>]
   * @param sources the plans, at least one, none empty; copied
   * @param weights one weight per source, each at least 1, with a sum of at most 2<sup>30</sup>;
   *     copied
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static MixedSampler ofLength(long samples, List<Source> sources, long... weights) {
    requireNonNull(weights, "weights");
    return new MixedSampler(sources, weights, Length.GIVEN, samples);
  }

  private void check() {
    if (sources.isEmpty()) {
      throw new IllegalArgumentException("sources must not be empty");
    }
    if (weights.length != sources.size()) {
      throw new IllegalArgumentException(
          "there must be one weight for each of the %d sources, got %d"
              .formatted(sources.size(), weights.length));
    }
    long left = MixSchedule.MAX_SUM;
    for (int i = 0; i < weights.length; i++) {
      if (weights[i] < 1 || weights[i] > left) {
        throw new IllegalArgumentException(
            "weights must be at least 1 and sum to at most %d, got %d at index %d"
                .formatted(MixSchedule.MAX_SUM, weights[i], i));
      }
      left -= weights[i];
      if (sources.get(i).plan().size() < 1) {
        throw new IllegalArgumentException(
            "a source must have at least 1 index, but source %d is empty; leave it out"
                .formatted(i));
      }
    }
  }

  private long length(Length length) {
    long shortest = Long.MAX_VALUE;
    long longest = 0;
    for (int i = 0; i < weights.length; i++) {
      long size = sources.get(i).plan().size();
      if (length == Length.ALL_EXHAUSTED) {
        longest = Math.max(longest, schedule.positionOf(i, size - 1) + 1);
      } else {
        shortest = Math.min(shortest, schedule.positionOf(i, size));
      }
    }
    return length == Length.ALL_EXHAUSTED ? PlanChecks.requireSamples(longest) : shortest;
  }

  @Override
  public long size() {
    return samples;
  }

  @Override
  public DatasetSize madeFor() {
    return Source.madeFor(sources);
  }

  @Override
  public int depth() {
    return depth;
  }

  @Override
  public Cursor epoch(long epoch) {
    Checks.requireEpoch(epoch);
    return new MixCursor(this, epoch);
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("torchfeed.MixedSampler")
        .with("sources", hash)
        .with("weights", new ContentHash().add(weights).hex())
        .with("samples", samples);
  }

  @Override
  public String toString() {
    return PlanChecks.described(this);
  }

  /** The condition that ends an epoch. */
  private enum Length {
    FIRST_EXHAUSTED,
    ALL_EXHAUSTED,
    GIVEN
  }

  /** A cursor over the sources' cursors, with a place in the schedule. */
  private static final class MixCursor extends PositionCursor {
    private final MixedSampler plan;
    private final MixSchedule.Place place;
    private final List<SourceCursor> cursors;
    private final long[] firstEpochs;

    MixCursor(MixedSampler plan, long epoch) {
      super(plan, plan.samples);
      this.plan = plan;
      this.place = plan.schedule.at(0);
      this.cursors = plan.sources.stream().map(s -> new SourceCursor(s.plan())).toList();
      this.firstEpochs = new long[cursors.size()];
      MixSchedule.Place end = plan.schedule.at(plan.samples);
      for (int i = 0; i < firstEpochs.length; i++) {
        long size = plan.sources.get(i).plan().size();
        long laps = Math.max(1, (end.drawn(i) - 1) / size + 1);
        firstEpochs[i] = firstEpoch(epoch, laps);
      }
    }

    private static long firstEpoch(long epoch, long laps) {
      long last = (Long.MAX_VALUE - (laps - 1)) / laps;
      if (epoch > last) {
        throw new IllegalArgumentException(
            "epoch must be at most %d when a source is repeated %d times, got %d"
                .formatted(last, laps, epoch));
      }
      return epoch * laps;
    }

    @Override
    public void read(long start, long stride, long[] into, int from, int count) {
      for (int i = 0; i < count; i++) {
        place.moveTo(start + i * stride);
        int source = place.source();
        cursors.get(source).read(firstEpochs[source], place.drawn(source), 1, into, from + i, 1);
        into[from + i] = plan.sources.get(source).shifted(into[from + i]);
      }
    }

    @Override
    public boolean paddingAt(long position) {
      MixSchedule.Place there = plan.schedule.at(position);
      int source = there.source();
      return cursors.get(source).paddingAt(firstEpochs[source], there.drawn(source));
    }

    @Override
    public void release() {
      cursors.forEach(SourceCursor::close);
    }
  }

  /**
   * One of several plans that make up a larger one.
   *
   * @param plan the plan of this source's whole order
   * @param firstIndex the offset added to each of its indices, in [0, 2<sup>62</sup>]: the number
   *     of samples in the preceding datasets if datasets are concatenated, 0 if all plans are over
   *     one dataset
   */
  public record Source(Sampler plan, long firstIndex) {
    /**
     * Creates a source.
     *
     * @param plan the plan of this source's whole order
     * @param firstIndex the offset added to each of its indices, in [0, 2<sup>62</sup>]
     * @throws IllegalArgumentException if {@code firstIndex} is out of range, or {@code plan} is
     *     one rank's plan
     */
    public Source {
      PlanChecks.requireWhole(plan, "plan");
      if (firstIndex < 0 || firstIndex > PlanChecks.MAX_SIZE) {
        throw new IllegalArgumentException(
            "firstIndex must be in [0, %d], got %d".formatted(PlanChecks.MAX_SIZE, firstIndex));
      }
    }

    /** Converts an index of this source to an index of the whole. */
    long shifted(long index) {
      if (index > Long.MAX_VALUE - firstIndex) {
        throw new IllegalStateException(
            "an index plus the firstIndex %d of its source must be at most %d, got index %d of %s"
                .formatted(firstIndex, Long.MAX_VALUE, index, plan));
      }
      return index + firstIndex;
    }

    /**
     * Returns one source for each of several concatenated datasets, numbered as by PyTorch's {@code
     * ConcatDataset}.
     *
     * @param plans the plan of each dataset
     * @param datasetSizes the number of samples in each dataset, at least 0
     * @return the sources, in the order of the datasets
     * @throws IllegalArgumentException if the two lists differ in length, a size is negative, or
     *     the sum of the sizes is above 2<sup>62</sup>
     */
    public static List<Source> ofDatasets(List<? extends Sampler> plans, long... datasetSizes) {
      requireNonNull(datasetSizes, "datasetSizes");
      requireNonNull(plans, "plans");
      if (plans.size() != datasetSizes.length) {
        throw new IllegalArgumentException(
            "there must be one dataset size for each of the %d plans, got %d"
                .formatted(plans.size(), datasetSizes.length));
      }
      List<Source> sources = new ArrayList<>();
      long first = 0;
      for (int i = 0; i < datasetSizes.length; i++) {
        if (datasetSizes[i] < 0 || datasetSizes[i] > PlanChecks.MAX_SIZE - first) {
          throw new IllegalArgumentException(
              "dataset sizes must be at least 0 and sum to at most %d, got %d at index %d"
                  .formatted(PlanChecks.MAX_SIZE, datasetSizes[i], i));
        }
        sources.add(new Source(plans.get(i), first));
        first += datasetSizes[i];
      }
      return List.copyOf(sources);
    }

    /** Returns the hash of the sources: all that a plan composed of them depends on. */
    static String hash(List<Source> sources) {
      ContentHash hash = new ContentHash().add(sources.size());
      for (Source source : sources) {
        hash.add(source.plan.digest()).add(source.firstIndex);
      }
      return hash.hex();
    }

    /** Returns the size of the dataset to which the indices of all sources belong. */
    static DatasetSize madeFor(List<Source> sources) {
      long samples = 0;
      boolean isExact = true;
      for (Source source : sources) {
        DatasetSize own = source.plan().madeFor();
        long end = Math.min(own.samples(), Long.MAX_VALUE - source.firstIndex);
        samples = Math.max(samples, end == 0 ? 0 : end + source.firstIndex);
        isExact &= own.isExact();
      }
      return new DatasetSize(samples, isExact);
    }

    /** Returns the depth of a plan composed of sources. */
    static int depth(List<Source> sources) {
      return 1 + sources.stream().mapToInt(source -> source.plan().depth()).max().orElse(0);
    }
  }
}
