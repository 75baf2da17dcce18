// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.ComputedCursor;
import io.torchfeed.sampler.cursor.PlanChecks;

/**
 * A base for samplers of your own: a plan of a whole order in which the index at any position can
 * be computed. It can be resumed, combined and divided among ranks like torchfeed's own plans.
 *
 * <pre>{@code
 * final class EveryOther extends ComputedSampler {
 *   private final long datasetSize;
 *
 *   EveryOther(long datasetSize) {
 *     super(datasetSize / 2);
 *     this.datasetSize = datasetSize;
 *   }
 *
 *   @Override
 *   protected long index(long epoch, long position) {
 *     return 2 * position + epoch % 2;
 *   }
 *
 *   @Override
 *   public PlanParameters parameters() {
 *     return PlanParameters.of("example.EveryOther").with("datasetSize", datasetSize);
 *   }
 * }
 *
 * Sampler ofThisRank = StridedSampler.of(new EveryOther(1000), part);
 * }</pre>
 *
 * <p>Subclasses are immutable; any number of threads may open cursors and read them. Opening an
 * epoch and {@link io.torchfeed.sampler.Seekable#seek} take constant time and memory.
 */
public abstract class ComputedSampler implements Sampler {
  private final long size;

  /**
   * Creates a plan.
   *
   * @param size number of indices in an epoch, in [0, 2<sup>62</sup>]
   * @throws IllegalArgumentException if {@code size} is out of range
   */
  protected ComputedSampler(long size) {
    if (size < 0 || size > PlanChecks.MAX_SIZE) {
      throw new IllegalArgumentException(
          "size must be in [0, %d], got %d".formatted(PlanChecks.MAX_SIZE, size));
    }
    this.size = size;
  }

  /**
   * Returns the index at a position of the order: a function of its arguments and of {@link
   * #parameters} alone.
   *
   * @param epoch the number of the epoch, at least 0
   * @param position the position, in [0, size)
   * @return a dataset index, at least 0; a negative one ends the read with an {@link
   *     IllegalStateException}
   */
  protected abstract long index(long epoch, long position);

  @Override
  public final long size() {
    return size;
  }

  @Override
  public final Cursor epoch(long epoch) {
    Checks.requireEpoch(epoch);
    return new ComputedCursor(this, size, position -> checkedIndex(epoch, position));
  }

  private long checkedIndex(long epoch, long position) {
    long index = index(epoch, position);
    if (index < 0) {
      throw new IllegalStateException(
          "index(%d, %d) of %s must be at least 0, got %d".formatted(epoch, position, this, index));
    }
    return index;
  }
}
