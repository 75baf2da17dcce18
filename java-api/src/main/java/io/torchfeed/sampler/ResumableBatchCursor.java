// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;
import java.util.OptionalLong;

/**
 * A cursor over batches that can say at any moment from what state it could be resumed: {@link
 * ResumableCursor} for plans in batches.
 *
 * <p>Where batches are prefetched, the position of the cursor is ahead of the consumer: {@link
 * #stateAt} takes the consumer's.
 */
public final class ResumableBatchCursor implements BatchCursor {
  private final BatchSampler sampler;
  private final long epoch;
  private final List<Segment> before;
  private final BatchCursor cursor;
  private OptionalLong orderDigest;
  private boolean ended;

  private ResumableBatchCursor(
      BatchSampler sampler,
      long epoch,
      List<Segment> before,
      BatchCursor cursor,
      OptionalLong orderDigest) {
    this.sampler = sampler;
    this.epoch = epoch;
    this.before = before;
    this.cursor = cursor;
    this.orderDigest = orderDigest;
  }

  /**
   * Opens a cursor at the first batch of an epoch. The caller owns the cursor and closes it.
   *
   * @param sampler the plan
   * @param epoch the number of the epoch, at least 0
   * @return a new cursor
   * @throws IllegalArgumentException if {@code epoch} is negative
   */
  public static ResumableBatchCursor open(BatchSampler sampler, long epoch) {
    return new ResumableBatchCursor(
        sampler, epoch, List.of(), sampler.epoch(epoch), OptionalLong.empty());
  }

  /** Opens a cursor at a state that has segments and whose plan has been compared. */
  static ResumableBatchCursor resume(BatchSampler sampler, SamplerState state) {
    return new ResumableBatchCursor(
        sampler,
        state.epoch(),
        Segment.before(state.segments(), sampler.worldSize()),
        sampler.resume(state.epoch(), state.segments()),
        OptionalLong.of(state.orderDigest()));
  }

  /**
   * The number of the epoch.
   *
   * @return at least 0
   */
  public long epoch() {
    return epoch;
  }

  /**
   * The state after what this cursor has delivered. Finished once {@link #next} has returned 0.
   *
   * @return the state
   * @throws IllegalStateException if the cursor is closed
   */
  public SamplerState state() {
    SamplerState state = stateAt(position());
    return ended ? state.asFinished() : state;
  }

  /**
   * The state before a batch: of a consumer that is behind this cursor, or before it.
   *
   * @param position a position of this cursor, in batches
   * @return the state, not finished
   * @throws IllegalArgumentException if {@code position} is outside of the cursor's range
   * @throws IllegalStateException if the cursor is closed
   */
  public SamplerState stateAt(long position) {
    SamplerState.requirePosition(position, position() + remaining());
    if (orderDigest.isEmpty()) {
      orderDigest = OptionalLong.of(SamplerState.digest(sampler, epoch, sampler.worldSize()));
    }
    return SamplerState.unfinished(
        sampler.order(),
        epoch,
        before,
        new Segment(sampler.worldSize(), cursor.delivered(position)),
        orderDigest.getAsLong());
  }

  @Override
  public int next(long[] into, int from) {
    int size = cursor.next(into, from);
    ended = size == 0;
    return size;
  }

  @Override
  public long position() {
    return cursor.position();
  }

  @Override
  public void seek(long position) {
    cursor.seek(position);
    ended = false;
  }

  @Override
  public long remaining() {
    return cursor.remaining();
  }

  @Override
  public boolean isPadding(long batch, int element) {
    return cursor.isPadding(batch, element);
  }

  @Override
  public long delivered(long position) {
    return cursor.delivered(position);
  }

  @Override
  public void close() {
    cursor.close();
  }
}
