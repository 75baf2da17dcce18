// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;
import java.util.OptionalLong;

/**
 * A cursor that can say at any moment from what state it could be resumed.
 *
 * <p>As a {@link Cursor} it is the one it wraps. Where batches are prefetched, the position of the
 * cursor is ahead of the consumer: {@link #stateAt} takes the consumer's.
 */
public final class ResumableCursor implements Cursor {
  private final Sampler sampler;
  private final long epoch;
  private final List<Segment> before;
  private final Cursor cursor;
  private OptionalLong orderDigest;
  private boolean ended;

  private ResumableCursor(
      Sampler sampler, long epoch, List<Segment> before, Cursor cursor, OptionalLong orderDigest) {
    this.sampler = sampler;
    this.epoch = epoch;
    this.before = before;
    this.cursor = cursor;
    this.orderDigest = orderDigest;
  }

  /**
   * Opens a cursor at the start of an epoch. The caller owns the cursor and closes it.
   *
   * @param sampler the plan
   * @param epoch the number of the epoch, at least 0
   * @return a new cursor
   * @throws IllegalArgumentException if {@code epoch} is negative
   * @throws IllegalStateException if the order needs more memory than the machine has now
   */
  public static ResumableCursor open(Sampler sampler, long epoch) {
    return new ResumableCursor(
        sampler, epoch, List.of(), sampler.epoch(epoch), OptionalLong.empty());
  }

  /** Opens a cursor at a state that has segments and whose plan has been compared. */
  static ResumableCursor resume(Sampler sampler, SamplerState state) {
    return new ResumableCursor(
        sampler,
        state.epoch(),
        Segment.before(state.segments(), SamplerState.worldSize(sampler)),
        openAt(sampler, state.epoch(), state.segments()),
        OptionalLong.of(state.orderDigest()));
  }

  /** Opens a cursor where segments end: see {@link BatchSampler#resume}. */
  static Cursor openAt(Sampler sampler, long epoch, List<Segment> delivered) {
    List<Segment> before = Segment.before(delivered, SamplerState.worldSize(sampler));
    Cursor cursor = openRest(sampler, epoch, before);
    if (before.size() == delivered.size()) {
      return cursor;
    }
    try {
      long position = delivered.get(before.size()).deliveredByEachRank();
      cursor.seek(inside(sampler, epoch, delivered, position, cursor.remaining()));
    } catch (RuntimeException e) {
      cursor.close();
      throw e;
    }
    return cursor;
  }

  private static Cursor openRest(Sampler sampler, long epoch, List<Segment> before) {
    if (before.isEmpty()) {
      return sampler.epoch(epoch);
    }
    if (sampler instanceof DistributedSampler part) {
      return part.resume(epoch, before);
    }
    throw new IllegalArgumentException(
        "segments of a plan that is not divided must have worldSize 1, got " + before);
  }

  /** Where ranks are of unequal size, the longest may be past the end of the others. */
  private static long inside(
      Sampler sampler, long epoch, List<Segment> delivered, long position, long size) {
    boolean uneven = Tail.UNEVEN.name().equals(sampler.parameters().values().get("tail"));
    if (!uneven || position <= size) {
      return position;
    }
    openRest(sampler, epoch, delivered).close(); // checks it with the longest rank
    return size;
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
   * @return the state; the first call takes one more opening of the epoch if the order is a list
   * @throws IllegalStateException if the cursor is closed
   */
  public SamplerState state() {
    SamplerState state = stateAt(position());
    return ended ? state.asFinished() : state;
  }

  /**
   * The state after the indices that lie before a position: of a consumer that is behind this
   * cursor, or before it.
   *
   * @param position a position of this cursor
   * @return the state, not finished
   * @throws IllegalArgumentException if {@code position} is outside of the cursor's range
   * @throws IllegalStateException if the cursor is closed
   */
  public SamplerState stateAt(long position) {
    SamplerState.requirePosition(position, position() + remaining());
    if (orderDigest.isEmpty()) {
      orderDigest = OptionalLong.of(SamplerState.digest(sampler, epoch));
    }
    return SamplerState.unfinished(
        SamplerState.order(sampler),
        epoch,
        before,
        SamplerState.segment(sampler, position),
        orderDigest.getAsLong());
  }

  @Override
  public int next(long[] into, int from, int count) {
    int read = cursor.next(into, from, count);
    ended = read == 0;
    return read;
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
  public boolean isPadding(long position) {
    return cursor.isPadding(position);
  }

  @Override
  public void close() {
    cursor.close();
  }
}
