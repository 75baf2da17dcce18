// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;

/**
 * Several sources mixed in fixed proportions: which source a position draws from is a matter of
 * counting, not of chance.
 *
 * <p>Sources with the weights 7, 2 and 1 are drawn from 7, 2 and 1 times in every 10 consecutive
 * positions that start at a multiple of 10. In between, of k sources one with the share s has had
 * its share of the first p positions, s·p, to within 1/2 + s·(k-2)/2 draws. (Grain and tf.data's
 * {@code sample_from_datasets} draw the source at random or mix by rounded proportions.)
 *
 * <p>Each source keeps its own order and starts at its beginning in every epoch. Where an epoch has
 * room for a source more than once, the laps are different epochs of the source: lap l of epoch e
 * is its epoch e·L + l, with L laps to an epoch, the last of which may be cut. Any position is
 * found at once, in O(k) one after the other and in O(k<sup>2</sup>) otherwise; a cursor holds one
 * epoch of each source. Immutable; any number of threads may open cursors.
 */
public final class MixedSampler implements Sampler {
  private final List<Source> sources;
  private final long[] weights;
  private final MixSchedule schedule;
  private final long samples;

  private MixedSampler(List<Source> sources, long[] weights, Length length, long samples) {
    this.sources = List.copyOf(sources);
    this.weights = weights.clone();
    check();
    this.schedule = new MixSchedule(this.weights);
    this.samples = length == Length.GIVEN ? Orders.requireSamples(samples) : length(length);
  }

  /**
   * An epoch that ends where a source is to be drawn from that has no sample left; no sample comes
   * twice.
   *
   * @param sources the plans, at least one, none empty; copied
   * @param weights a weight for each source, at least 1, 2<sup>30</sup> together at most; copied
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static MixedSampler untilFirstExhausted(List<Source> sources, long... weights) {
    return new MixedSampler(sources, weights, Length.FIRST_EXHAUSTED, 0);
  }

  /**
   * An epoch that ends when every sample of every source was seen; the shorter sources are
   * repeated.
   *
   * @param sources the plans, at least one, none empty; copied
   * @param weights a weight for each source, at least 1, 2<sup>30</sup> together at most; copied
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range, or the epoch has more
   *     than 2<sup>62</sup> positions
   */
  public static MixedSampler untilAllExhausted(List<Source> sources, long... weights) {
    return new MixedSampler(sources, weights, Length.ALL_EXHAUSTED, 0);
  }

  /**
   * An epoch of a given length; sources are repeated where it is longer than they are.
   *
   * @param samples number of positions of an epoch, in [0, 2<sup>62</sup>]
   * @param sources the plans, at least one, none empty; copied
   * @param weights a weight for each source, at least 1, 2<sup>30</sup> together at most; copied
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static MixedSampler ofLength(long samples, List<Source> sources, long... weights) {
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
    long left = MixSchedule.LARGEST_SUM;
    for (int i = 0; i < weights.length; i++) {
      if (weights[i] < 1 || weights[i] > left) {
        throw new IllegalArgumentException(
            "weights must be at least 1 and %d together at most, got %d at index %d"
                .formatted(MixSchedule.LARGEST_SUM, weights[i], i));
      }
      left -= weights[i];
      if (sources.get(i).plan().size() < 1) {
        throw new IllegalArgumentException(
            "a source must have at least 1 index, source %d is empty; leave it out".formatted(i));
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
    return length == Length.ALL_EXHAUSTED ? Orders.requireSamples(longest) : shortest;
  }

  @Override
  public long size() {
    return samples;
  }

  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
    return new MixCursor(this, epoch);
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("torchfeed.MixedSampler")
        .with("sources", Source.hash(sources))
        .with("weights", new ContentHash().add(weights).hex())
        .with("samples", samples);
  }

  @Override
  public String toString() {
    return Orders.described(this);
  }

  /** What ends an epoch. */
  private enum Length {
    FIRST_EXHAUSTED,
    ALL_EXHAUSTED,
    GIVEN
  }

  /** The sources' cursors and a place in the schedule. */
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
            "epoch must be at most %d where a source is repeated %d times, got %d"
                .formatted(last, laps, epoch));
      }
      return epoch * laps;
    }

    @Override
    void read(long start, long stride, long[] into, int from, int count) {
      for (int i = 0; i < count; i++) {
        place.moveTo(start + i * stride);
        int source = place.source();
        cursors.get(source).read(firstEpochs[source], place.drawn(source), 1, into, from + i, 1);
        into[from + i] += plan.sources.get(source).firstIndex();
      }
    }

    @Override
    boolean paddingAt(long position) {
      MixSchedule.Place there = plan.schedule.at(position);
      int source = there.source();
      return cursors.get(source).paddingAt(firstEpochs[source], there.drawn(source));
    }

    @Override
    void release() {
      cursors.forEach(SourceCursor::close);
    }
  }
}
