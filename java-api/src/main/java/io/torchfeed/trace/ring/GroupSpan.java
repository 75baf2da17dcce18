// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.GroupEvents;
import org.jspecify.annotations.Nullable;

/** An operation of a group, from its beginning to its end, in the trace and in recordings. */
public final class GroupSpan {
  /** The number of a reduction that sends nothing. */
  private static final long LOCAL = -1;

  private final GroupLog group;
  private final String operation;
  private final Kind kind;
  private final int flags;
  private final long number;
  private final @Nullable Recorder recorder;
  private final GroupEvents.@Nullable OfGroup event;
  private final @Nullable Lane lane;
  private final long step;
  private final long start;
  private final int place;

  private GroupSpan(
      GroupLog group,
      String operation,
      Kind kind,
      boolean meets,
      @Nullable Recorder recorder,
      GroupEvents.@Nullable OfGroup event,
      long number) {
    this.group = group;
    this.operation = operation;
    this.kind = kind;
    this.flags = meets ? Event.MEETS : 0;
    this.recorder = recorder;
    this.event = event;
    this.number = number;
    lane = recorder == null ? null : recorder.lane();
    step = lane == null ? -1 : lane.step();
    start = System.nanoTime();
    if (lane != null) {
      lane.callsGroups();
    }
    place = recorder == null ? 0 : recorder.open(this);
  }

  /**
   * Begins an operation; returns null if no trace and no recording wants it.
   *
   * @param operation the name in messages
   * @param meets whether all ranks wait for each other in it
   */
  public static @Nullable GroupSpan begin(
      GroupLog group, String operation, Kind kind, boolean meets) {
    long number = group.begin(kind);
    Recorder recorder = Recorder.current();
    GroupEvents.OfGroup event = GroupEvents.beginCollective();
    return recorder == null && event == null
        ? null
        : new GroupSpan(group, operation, kind, meets, recorder, event, number);
  }

  /** Returns whether {@link #beginReduction} has an effect. */
  public static boolean isReductionWanted() {
    return Recorder.current() != null || GroupEvents.showsReductions();
  }

  /**
   * Begins an operation of a reducer.
   *
   * @param number the reductions in this group before it
   */
  public static GroupSpan beginReduction(GroupLog group, String operation, long number) {
    return new GroupSpan(
        group,
        operation,
        Kind.REDUCTION,
        true,
        Recorder.current(),
        GroupEvents.beginReduction(),
        number);
  }

  /** Ends an operation that has moved bytes. */
  public void end(long bytes) {
    finish(System.nanoTime(), number, bytes, 0, false);
  }

  /**
   * Ends the operation of a reducer.
   *
   * @param isReduction whether it has averaged gradients
   * @param waited nanoseconds from its last gradient to the end
   * @param communicated nanoseconds from the start of the first bucket's exchange to the end
   */
  public void endReduction(boolean isReduction, long bytes, long waited, long communicated) {
    long now = System.nanoTime();
    if (recorder != null && communicated > 0) {
      recorder.add(this, Kind.EXCHANGE, now - communicated, now, bytes);
    }
    finish(now, isReduction ? number : LOCAL, bytes, waited, false);
  }

  /**
   * Ends an operation that throws.
   *
   * @param isLoss whether a rank is lost, so that this one leaves a dump
   */
  public void fail(Throwable failure, long bytes, boolean isLoss) {
    finish(System.nanoTime(), number, bytes, 0, true);
    if (recorder != null) {
      recorder.failures().add(this, CallSites.here(), failure);
      if (isLoss) {
        recorder.lost(operation);
      }
    }
  }

  private void finish(long now, long ownNumber, long bytes, long waited, boolean hasFailed) {
    if (recorder != null) {
      recorder.close(place, this);
      int all = hasFailed ? flags | Event.FAILED : flags;
      recorder.add(this, now, all, ownNumber, bytes, waited);
    }
    if (event != null) {
      event.finish(
          new GroupEvents.Call(operation, group.rank(), group.ranks(), ownNumber, step),
          bytes,
          hasFailed);
    }
  }

  GroupLog group() {
    return group;
  }

  String operation() {
    return operation;
  }

  Kind kind() {
    return kind;
  }

  long number() {
    return number;
  }

  /** Returns the thread that has begun it; there is a recorder. */
  Lane lane() {
    return requireNonNull(lane, "lane");
  }

  long step() {
    return step;
  }

  long start() {
    return start;
  }
}
