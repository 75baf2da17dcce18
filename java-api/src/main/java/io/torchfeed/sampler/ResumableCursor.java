// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.cursor.Continuation;
import io.torchfeed.sampler.cursor.PlanChecks;
import io.torchfeed.sampler.cursor.Segments;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Supplier;

/**
 * A cursor that can return at any moment the state from which it could be resumed. It wraps the
 * cursor of a plan, has the same positions, and checks the indices of a plan of the caller's own.
 *
 * <p>If batches are prefetched, the position of the cursor is ahead of the consumer: pass the
 * consumer's position to {@link #stateAt}.
 *
 * @param <C> the cursors of the plan
 */
public abstract sealed class ResumableCursor<C extends Seekable> implements Seekable {
  final Plan<C> plan;
  final long epoch;
  final C cursor;
  boolean ended;
  private final List<EpochSegment> before;
  private OptionalLong orderDigest;

  private ResumableCursor(Opening<C> opening) {
    plan = opening.plan;
    epoch = opening.epoch;
    before = opening.before;
    orderDigest = opening.orderDigest;
    cursor = Continuation.requireCursor(opening.cursor.get(), plan);
    long remaining = cursor.remaining();
    if (remaining < 0) {
      String message =
          "a cursor of %s must have at least 0 elements left, got %d at position %d"
              .formatted(plan, remaining, cursor.position());
      cursor.close();
      throw new IllegalStateException(message);
    }
  }

  /**
   * Opens a cursor at the start of an epoch. The caller owns the cursor and closes it.
   *
   * @param sampler the plan
   * @param epoch the number of the epoch, at least 0
   * @return a new cursor
   * @throws IllegalArgumentException if {@code epoch} is negative
   * @throws IllegalStateException if the order needs more memory than is available
   */
  public static OfIndices open(Sampler sampler, long epoch) {
    requireNonNull(sampler, "sampler");
    return new OfIndices(Opening.ofEpoch(sampler, epoch));
  }

  /**
   * Opens a cursor at the first batch of an epoch. The caller owns the cursor and closes it.
   *
   * @param sampler the plan
   * @param epoch the number of the epoch, at least 0
   * @return a new cursor
   * @throws IllegalArgumentException if {@code epoch} is negative
   * @throws IllegalStateException if the order needs more memory than is available
   */
  public static OfBatches open(BatchSampler sampler, long epoch) {
    requireNonNull(sampler, "sampler");
    return new OfBatches(Opening.ofEpoch(sampler, epoch), PlanChecks.maxBatchSize(sampler));
  }

  /** Opens a cursor at a state that has segments and whose plan has been compared. */
  static OfIndices resume(Sampler sampler, SamplerState state) {
    return new OfIndices(Opening.ofState(sampler, state));
  }

  /** Opens a cursor at a state that has segments and whose plan has been compared. */
  static OfBatches resume(BatchSampler sampler, SamplerState state) {
    return new OfBatches(Opening.ofState(sampler, state), PlanChecks.maxBatchSize(sampler));
  }

  /**
   * Returns the number of the epoch.
   *
   * @return at least 0
   */
  public final long epoch() {
    return epoch;
  }

  /**
   * Returns the state after all deliveries of this cursor. It is finished once {@code next} has
   * returned 0.
   *
   * @return the state; if the order is a list, the first call opens the epoch once more
   * @throws IllegalStateException if the cursor is closed
   */
  public final SamplerState state() {
    SamplerState state = stateAt(position());
    return ended ? state.asFinished() : state;
  }

  /**
   * Returns the state at a position, for a consumer that has received everything before it.
   *
   * @param position a position of this cursor
   * @return the state, not finished
   * @throws IllegalArgumentException if {@code position} is outside of the cursor's range
   * @throws IllegalStateException if the cursor is closed
   */
  public final SamplerState stateAt(long position) {
    Checks.requirePosition(position, position() + remaining());
    if (orderDigest.isEmpty()) {
      orderDigest = OptionalLong.of(SamplerState.digest(plan, epoch, plan.part().worldSize()));
    }
    return SamplerState.unfinished(
        plan.order(),
        epoch,
        before,
        new EpochSegment(plan.part().worldSize(), cursor.delivered(position)),
        orderDigest.getAsLong(),
        plan.tail() == Tail.UNEVEN && Continuation.endsBeforeOthers(cursor, position));
  }

  @Override
  public final long position() {
    return cursor.position();
  }

  @Override
  public final void seek(long position) {
    cursor.seek(position);
    ended = false;
  }

  @Override
  public final long remaining() {
    return cursor.remaining();
  }

  @Override
  public final long delivered(long position) {
    return cursor.delivered(position);
  }

  @Override
  public final void close() {
    cursor.close();
  }

  /** A resumable cursor over single indices. */
  public static final class OfIndices extends ResumableCursor<Cursor> implements Cursor {
    private OfIndices(Opening<Cursor> opening) {
      super(opening);
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalStateException if the plan's cursor writes more than {@code count} indices;
     *     also if the cursor is closed
     */
    @Override
    public int next(long[] into, int from, int count) {
      requireNonNull(into, "into");
      int read = cursor.next(into, from, count);
      if (read < 0 || read > count) {
        throw new IllegalStateException(
            "a cursor of %s must write 0 to %d indices, got %d at position %d"
                .formatted(plan, count, read, cursor.position()));
      }
      ended = read == 0;
      return read;
    }

    @Override
    public boolean isPadding(long position) {
      return cursor.isPadding(position);
    }
  }

  /** A resumable cursor over batches. */
  public static final class OfBatches extends ResumableCursor<BatchCursor> implements BatchCursor {
    private final int maxBatchSize;

    private OfBatches(Opening<BatchCursor> opening, int maxBatchSize) {
      super(opening);
      this.maxBatchSize = maxBatchSize;
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalStateException if the plan delivers a batch that is larger than its {@link
     *     BatchSampler#maxBatchSize}; also if the cursor is closed
     */
    @Override
    public int next(long[] into, int from) {
      requireNonNull(into, "into");
      long batch = cursor.position();
      int size = read(into, from, batch);
      if (size < 0 || size > maxBatchSize) {
        throw new IllegalStateException(
            "batch %d of epoch %d of %s must have 0 to %d indices, up to maxBatchSize(), got %d"
                .formatted(batch, epoch, plan, maxBatchSize, size));
      }
      ended = size == 0;
      return size;
    }

    private int read(long[] into, int from, long batch) {
      try {
        return cursor.next(into, from);
      } catch (IndexOutOfBoundsException e) {
        if (from < 0 || into.length - from < maxBatchSize) {
          throw e;
        }
        throw new IllegalStateException(
            "batch %d of epoch %d of %s does not fit its maxBatchSize(), %d"
                .formatted(batch, epoch, plan, maxBatchSize),
            e);
      }
    }

    @Override
    public boolean isPadding(long batch, int element) {
      return cursor.isPadding(batch, element);
    }
  }

  /**
   * The start of a cursor.
   *
   * @param before the segments before the part that the cursor delivers
   */
  private record Opening<C extends Seekable>(
      Plan<C> plan,
      long epoch,
      List<EpochSegment> before,
      Supplier<C> cursor,
      OptionalLong orderDigest) {
    static <C extends Seekable> Opening<C> ofEpoch(Plan<C> plan, long epoch) {
      return new Opening<>(plan, epoch, List.of(), () -> plan.epoch(epoch), OptionalLong.empty());
    }

    static <C extends Seekable> Opening<C> ofState(Plan<C> plan, SamplerState state) {
      return new Opening<>(
          plan,
          state.epoch(),
          Segments.before(state.segments(), plan.part().worldSize()),
          () -> plan.resume(state.epoch(), state.segments()),
          OptionalLong.of(state.orderDigest()));
    }
  }
}
