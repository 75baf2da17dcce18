// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import io.torchfeed.internal.Checks;

/**
 * One pass over an epoch, at a position that can be moved.
 *
 * <p>A cursor serves one thread at a time; cursors of one plan do not disturb each other. Only
 * {@link #close} may be called at any moment from any thread. After it every other method throws
 * {@link IllegalStateException}.
 */
public interface Seekable extends AutoCloseable {
  /**
   * Returns the position of the next element: of an index, or of a batch in plans of batches.
   *
   * @return the position, in [0, number of elements]
   * @throws IllegalStateException if the cursor is closed
   */
  long position();

  /**
   * Moves to a position, forward or backward. The elements that follow are those that a cursor
   * would deliver after reading up to that position.
   *
   * @param position the new position, in [0, number of elements]
   * @throws IllegalArgumentException if {@code position} is outside of that range
   * @throws IllegalStateException if the cursor is closed
   */
  void seek(long position);

  /**
   * Returns the number of elements from the position to the end.
   *
   * @return the number of elements less the position
   * @throws IllegalStateException if the cursor is closed
   */
  long remaining();

  /**
   * Returns the progress at a position, in the plan's unit of {@link EpochSegment segments}:
   * positions, unless the plan documents another one.
   *
   * @param position a position of this cursor
   * @return the amount that this rank has delivered up to there
   * @throws IllegalArgumentException if {@code position} is outside of [0, number of elements]
   * @throws IllegalStateException if the cursor is closed
   */
  default long delivered(long position) {
    Checks.requirePosition(position, position() + remaining());
    return position;
  }

  /**
   * Releases the cursor. Later calls have no effect; a call running in another thread completes.
   */
  @Override
  void close();
}
