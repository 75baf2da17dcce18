// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.OrderProbe;
import io.torchfeed.sampler.cursor.PositionCursor;
import io.torchfeed.sampler.cursor.Stride;
import java.util.List;

/**
 * A shuffled order in constant memory, distributed over the ranks by stride: the plan to use unless
 * you must reproduce the order of another framework.
 *
 * <p>Epoch e of the whole dataset is the {@link SeekablePermutation} of seed and e; rank r of W
 * takes its positions r, r+W, r+2W, …. Opening an epoch, {@link io.torchfeed.sampler.Seekable#seek}
 * and {@link #resume} take constant time and memory at any dataset size, and the order does not
 * depend on the number of ranks. With {@link Tail#PAD} the order's first samples are the padding,
 * with {@link Tail#DROP} its last samples are left out; these differ from epoch to epoch.
 *
 * <p>Plans of equal size and seed have the same order: sources of a {@link ConcatenatedSampler} or
 * a {@link MixedSampler} that are equally large need different seeds.
 *
 * <p>Source: torchfeed's own dialect, {@code seekable}.
 *
 * @param datasetSize number of samples in the dataset, in [0, 2<sup>62</sup>]
 * @param part the part of this rank
 * @param seed any value
 * @param tail the rule for a dataset that does not divide evenly among the ranks
 */
public record ShuffledSampler(long datasetSize, Part part, long seed, Tail tail)
    implements Sampler, DividedPlan<Cursor> {
  /**
   * Creates a plan with the given tail.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2<sup>62</sup>]
   * @param part the part of this rank
   * @param seed any value
   * @param tail the rule for a dataset that does not divide evenly among the ranks
   * @throws IllegalArgumentException if an argument is out of range
   */
  public ShuffledSampler {
    requireNonNull(part, "part");
    requireNonNull(tail, "tail");
    Checks.requireDatasetSize(datasetSize);
    if (datasetSize > SeekablePermutation.MAX_SIZE) {
      throw new IllegalArgumentException(
          "datasetSize must be in [0, %d], got %d"
              .formatted(SeekablePermutation.MAX_SIZE, datasetSize));
    }
  }

  /**
   * Creates one rank's plan that pads: each rank gets the same number of samples, and every sample
   * is seen.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2<sup>62</sup>]
   * @param part the part of this rank
   * @param seed any value
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static ShuffledSampler of(long datasetSize, Part part, long seed) {
    return new ShuffledSampler(datasetSize, part, seed, Tail.PAD);
  }

  /**
   * Creates a plan of the whole dataset.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2<sup>62</sup>]
   * @param seed any value
   * @return the plan
   * @throws IllegalArgumentException if {@code datasetSize} is out of range
   */
  public static ShuffledSampler of(long datasetSize, long seed) {
    return of(datasetSize, Part.whole(), seed);
  }

  /**
   * Returns this plan with another tail; {@link Tail#PAD} by default.
   *
   * @param tail the rule for a dataset that does not divide evenly among the ranks
   * @return the new plan
   */
  public ShuffledSampler withTail(Tail tail) {
    return new ShuffledSampler(datasetSize, part, seed, tail);
  }

  @Override
  public long size() {
    return Stride.sizeOfARank(datasetSize, part, tail);
  }

  @Override
  public Cursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    return Stride.open(this, () -> new Order(this, epoch), datasetSize, before);
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    Checks.requireEpoch(epoch);
    return OrderProbe.of(of(datasetSize, seed), datasetSize, epoch);
  }

  @Override
  public PlanParameters order() {
    return PlanParameters.of("seekable.ShuffledSampler")
        .with("datasetSize", datasetSize)
        .with("seed", seed)
        .with("tail", tail);
  }

  /** The order of the whole dataset. */
  private static final class Order extends PositionCursor {
    private final SeekablePermutation permutation;

    Order(ShuffledSampler plan, long epoch) {
      super(plan, plan.datasetSize);
      // A permutation is never empty; an empty order is never read.
      permutation = SeekablePermutation.of(Math.max(1, plan.datasetSize), plan.seed, epoch);
    }

    @Override
    public void read(long start, long stride, long[] into, int from, int count) {
      permutation.at(start, stride, into, from, count);
    }
  }
}
