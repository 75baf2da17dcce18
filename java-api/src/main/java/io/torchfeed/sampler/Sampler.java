// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.cursor.OrderProbe;
import java.util.stream.LongStream;

/**
 * A plan of single indices. {@link Cursor} reads many of them at once; {@link #indices} is a stream
 * of them for simple uses.
 *
 * <p>{@link io.torchfeed.sampler.order.ComputedSampler} is the base of samplers whose index at a
 * position can be computed.
 */
public interface Sampler extends Plan<Cursor> {
  /**
   * Returns the number of indices that one epoch delivers to this rank.
   *
   * @return the number of indices, the same in every epoch
   */
  long size();

  /**
   * Returns the indices of an epoch as a sequential stream. The epoch is opened when the stream is
   * first read, and closed at its end. Close the stream if it is not read to its end.
   *
   * @param epoch the number of the epoch, at least 0
   * @return a stream of {@link #size} indices
   * @throws IllegalArgumentException if {@code epoch} is negative
   * @throws IllegalStateException if the order needs more memory than is available; when the stream
   *     is read
   */
  default LongStream indices(long epoch) {
    Checks.requireEpoch(epoch);
    return IndexStream.of(size(), () -> ResumableCursor.open(this, epoch));
  }

  /**
   * {@inheritDoc}
   *
   * @return 64 evenly spread samples of a plan that is not divided and has at most 2<sup>24</sup>
   *     indices; none for others, unless they override this method
   */
  @Override
  default long[] probe(long epoch, int worldSize) {
    Checks.requireEpoch(epoch);
    return order().equals(parameters()) ? OrderProbe.ofList(this, size(), epoch) : new long[0];
  }
}
