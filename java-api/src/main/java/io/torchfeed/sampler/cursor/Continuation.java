// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Plan;
import io.torchfeed.sampler.Seekable;
import io.torchfeed.sampler.Tail;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The cursor of an epoch at the end of its segments: {@link Plan#resume} in terms of a function
 * that divides the samples that other numbers of ranks left.
 */
public final class Continuation {
  private Continuation() {}

  /** Opens a cursor of a plan that cannot divide the rest of an epoch. */
  public static <C extends Seekable> C ofEpoch(
      Plan<C> plan, long epoch, List<EpochSegment> delivered) {
    return of(
        plan,
        epoch,
        delivered,
        segments -> {
          for (EpochSegment segment : segments) {
            if (segment.worldSize() != plan.part().worldSize()) {
              throw new IllegalArgumentException(
                  "this plan cannot be divided again: segments must have worldSize %d, got %s"
                      .formatted(plan.part().worldSize(), segment));
            }
          }
          return requireCursor(plan.epoch(epoch), plan);
        });
  }

  /**
   * Opens a cursor where segments end.
   *
   * @param rest opens this rank's part of the samples that segments left; the whole epoch if there
   *     are none
   */
  public static <C extends Seekable> C of(
      Plan<C> plan,
      long epoch,
      List<EpochSegment> delivered,
      Function<List<EpochSegment>, C> rest) {
    Checks.requireEpoch(epoch);
    List<EpochSegment> segments = Segments.joined(Checks.copyOf("delivered", delivered));
    List<EpochSegment> before = Segments.before(segments, plan.part().worldSize());
    C cursor = rest.apply(before);
    if (before.size() < segments.size()) {
      try {
        EpochSegment last = segments.get(before.size());
        if (plan.tail() == Tail.UNEVEN && last.deliveredByEachRank() > cursor.remaining()) {
          rest.apply(segments).close(); // compares with the longest rank, which this one is not
          cursor.seek(cursor.remaining());
        } else {
          Segments.requireAtMost(last, cursor.remaining());
          cursor.seek(last.deliveredByEachRank());
        }
      } catch (RuntimeException | Error e) {
        cursor.close();
        throw e;
      }
    }
    return cursor;
  }

  /** Returns whether a position is the end of a part that is shorter than the longest rank's. */
  public static boolean endsBeforeOthers(Seekable cursor, long position) {
    return position == cursor.position() + cursor.remaining()
        && cursor instanceof PartOfOrder part
        && part.endsBeforeOthers();
  }

  /** Requires that a plan, which may be the caller's own, has returned a cursor. */
  public static <C extends Seekable> C requireCursor(@Nullable C cursor, Plan<C> plan) {
    if (cursor == null) {
      throw new IllegalStateException(
          "epoch and resume of %s must return a cursor, got null".formatted(plan));
    }
    return cursor;
  }
}
