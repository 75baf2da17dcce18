// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

/** The fields of an event as numbers; their order is the format of dumps. */
public final class Event {
  /** The numbers of an event. */
  public static final int FIELDS = 7;

  /** The time at which it began, by {@link System#nanoTime}. */
  public static final int START = 0;

  /** The time at which it ended. */
  public static final int END = 1;

  /** Kind, flags, group, thread and name: see {@link #tag}. */
  public static final int TAG = 2;

  /** The step of the training, or -1. */
  public static final int STEP = 3;

  /** The number among the calls of the group, or of the batch in its epoch; -1 if there is none. */
  public static final int NUMBER = 4;

  /** The bytes that it moved. */
  public static final int BYTES = 5;

  /** A wait for other ranks in nanoseconds, the batches that were ready, or the epoch. */
  public static final int EXTRA = 6;

  /** The group or the name of an event without one. */
  public static final int NONE = 0xffff;

  /** The flag of an operation that has failed. */
  public static final int FAILED = 1;

  /** The flag of an operation at whose start all ranks wait for each other. */
  public static final int MEETS = 2;

  private static final int GROUP_SHIFT = 32;
  private static final int LANE_SHIFT = 16;
  private static final int KIND_SHIFT = 56;
  private static final int FLAGS_SHIFT = 48;
  private static final int BYTE = 0xff;

  private Event() {}

  static long tag(Kind kind, int flags, int group, int lane, int name) {
    return (long) kind.code() << KIND_SHIFT
        | (long) flags << FLAGS_SHIFT
        | (long) (group & NONE) << GROUP_SHIFT
        | (long) (lane & NONE) << LANE_SHIFT
        | (name & NONE);
  }

  /** Returns the code of the kind; of a foreign file, it may be any. */
  public static int kind(long tag) {
    return (int) (tag >>> KIND_SHIFT);
  }

  /** Returns whether the event has a flag. */
  public static boolean has(long tag, int flag) {
    return ((tag >>> FLAGS_SHIFT) & BYTE & flag) != 0;
  }

  /** Returns the index of the group, or {@link #NONE}. */
  public static int group(long tag) {
    return (int) (tag >>> GROUP_SHIFT) & NONE;
  }

  /** Returns the index of the thread. */
  public static int lane(long tag) {
    return (int) (tag >>> LANE_SHIFT) & NONE;
  }

  /** Returns the index of the name, or {@link #NONE}. */
  public static int name(long tag) {
    return (int) tag & NONE;
  }
}
