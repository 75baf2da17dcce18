// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.cursor.Continuation;
import java.util.List;

/**
 * The plan of one rank: which samples it receives in each epoch, and their order. A {@link Sampler}
 * delivers single indices, a {@link BatchSampler} batches of them.
 *
 * <p>A plan is immutable, and its order is a function of the plan and the epoch alone. Any number
 * of threads may open cursors.
 *
 * <p>A plan of a whole order needs {@link #epoch} and {@link #parameters} only. A plan that is one
 * rank's part of an order shared by all ranks is a {@link DividedPlan}, and overrides {@link
 * #probe}, so that a digest covers samples of the order.
 *
 * @param <C> the cursors of the plan
 */
public interface Plan<C extends Seekable> {
  /**
   * Opens a cursor at the start of an epoch. The caller owns the cursor and closes it.
   *
   * @param epoch the number of the epoch, at least 0
   * @return a new cursor, independent of all others
   * @throws IllegalArgumentException if {@code epoch} is negative
   * @throws IllegalStateException if the order needs more memory than is available
   */
  C epoch(long epoch);

  /**
   * Returns everything that this rank's part of the order depends on: the kind of plan, and its
   * parameters by name.
   *
   * @return the parameters; equal parameters mean equal orders
   */
  PlanParameters parameters();

  /**
   * Returns the parameters of the order that all ranks share: equal on all ranks, and for every
   * world size over which the rest of an epoch can be divided.
   *
   * @return {@link #parameters} without rank and world size; by default all of them
   */
  default PlanParameters order() {
    return parameters();
  }

  /**
   * Returns the part of the order that this plan delivers.
   *
   * @return the rank to which the plan belongs, and the number of ranks that share the order; by
   *     default the whole order
   */
  default Part part() {
    return Part.whole();
  }

  /**
   * Returns how the ends of the ranks' parts are aligned.
   *
   * @return {@link Tail#UNEVEN} if ranks may differ in size; by default {@link Tail#PAD}
   */
  default Tail tail() {
    return Tail.PAD;
  }

  /**
   * Opens a cursor that continues where ranks stopped. If the last of them were as many as this
   * plan has, it continues in their part of the epoch, at their position. Otherwise the rest is
   * divided again, and positions count from the start of this rank's part of it. The caller owns
   * the cursor and closes it.
   *
   * <p>Over all segments and this part together, each sample is delivered as often as in an
   * undisturbed epoch, except for padding (old padding is discarded, the new end is padded again)
   * or a dropped tail.
   *
   * @param epoch the number of the epoch, at least 0
   * @param delivered the delivered parts, the oldest first, in the unit of {@link
   *     Seekable#delivered}; empty for a whole epoch
   * @return a new cursor
   * @throws IllegalArgumentException if {@code epoch} is negative, a segment exceeds the rest at
   *     its start, or the number of ranks has changed and this plan cannot divide the rest
   */
  default C resume(long epoch, List<EpochSegment> delivered) {
    requireNonNull(delivered, "delivered");
    return Continuation.ofEpoch(this, epoch, delivered);
  }

  /**
   * Returns samples of the order that all ranks share; their digests tell orders of equal
   * parameters apart. Whether there are samples must depend on the order alone, never on the
   * machine or on the rank.
   *
   * @param epoch the number of the epoch, at least 0
   * @param worldSize the number of ranks that begin the epoch, for orders that depend on it
   * @return dataset indices, evenly spread over the order without the padding of single ranks;
   *     empty by default, so that digests cover the parameters only
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  default long[] probe(long epoch, int worldSize) {
    Checks.requireEpoch(epoch);
    return new long[0];
  }

  /**
   * Returns the size of the datasets to which the indices of this plan belong. A loader refuses a
   * dataset that is smaller, and warns of one that is larger if the plan was made for just this
   * size. A plan that reads other plans passes on theirs.
   *
   * @return the size; by default the parameter {@code datasetSize} of the {@link #order}, and
   *     without one {@link DatasetSize#unknown}
   */
  default DatasetSize madeFor() {
    String samples = order().values().get("datasetSize");
    try {
      long parsed = samples == null ? -1 : Long.parseLong(samples);
      return parsed < 0 ? DatasetSize.unknown() : DatasetSize.of(parsed);
    } catch (NumberFormatException e) { // of a plan with another meaning of the name
      return DatasetSize.unknown();
    }
  }

  /**
   * Returns how many plans lie between this one and its deepest order: 0, unless this plan reads
   * other plans. Reading takes stack for each, so plans nest at most 63 deep.
   *
   * @return one more than the largest depth of the plans that this one reads
   */
  default int depth() {
    return 0;
  }

  /**
   * Returns the digest of {@link #parameters}, which a checkpoint stores for comparison.
   *
   * @return 64 hexadecimal digits
   */
  default String digest() {
    return parameters().digest();
  }
}
