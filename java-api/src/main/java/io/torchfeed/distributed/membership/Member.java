// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import java.time.Duration;
import java.util.OptionalLong;

/** A connected process, as its coordinator knows it. */
final class Member {
  /** The activity of a member. */
  enum Doing {
    /** Connected, but not ready: it loads its data. */
    PREPARING,
    /** Waiting for a generation. */
    WAITING,
    /** In the current generation. */
    TRAINING,
    /** In the current generation, at the end of the training. */
    DONE
  }

  /** The signs of life of a member. */
  enum Life {
    /** It has given one in time. */
    HEARD,
    /** It has not, and is to be asked now. */
    TO_ASK,
    /** It was asked, and has time to answer. */
    SILENT,
    /** It is given up. */
    LOST
  }

  /** The limits of silence within which one that was asked answers. */
  static final int PATIENCE = 10;

  final long id;
  final String name;
  Doing doing = Doing.PREPARING;
  int rank = -1;
  long step = Message.NO_STEP;
  OptionalLong at = OptionalLong.empty();
  boolean isLeaving;

  /** It has completed a step, or taken the state after one. */
  boolean isHolder;

  private long heard;

  /** The last time at which a sign of life was late, but came. */
  private OptionalLong late = OptionalLong.empty();

  /** The time at which it was asked for a sign of life, if it has not given one since. */
  private OptionalLong asked = OptionalLong.empty();

  /** The time at which a sign of life was answered. */
  private OptionalLong answered = OptionalLong.empty();

  Member(long id, String name, long now) {
    this.id = id;
    this.name = name;
    this.heard = now;
  }

  /**
   * Takes a sign of life.
   *
   * @param limit of silence
   */
  void hear(long now, Duration limit) {
    if (now - heard > limit.toNanos() / 2) {
      late = OptionalLong.of(now);
    }
    heard = now;
    asked = OptionalLong.empty();
  }

  /** Returns whether a sign of life is to be answered, as none was within the limit of silence. */
  boolean isToBeAnswered(long now, Duration limit) {
    boolean isDue = answered.isEmpty() || now - answered.getAsLong() >= limit.toNanos();
    answered = isDue ? OptionalLong.of(now) : answered;
    return isDue;
  }

  /**
   * Looks for signs of life. One that is silent for longer than the limit is lost, if the
   * coordinator and its signs of life were on time so far. If not, it may be late as well, or has
   * been stopped as the coordinator was: it is asked first, and has {@link #PATIENCE} times the
   * limit to answer.
   *
   * @param isLate whether the coordinator was late recently
   */
  Life look(long now, Duration limit, boolean isLate) {
    long patience = PATIENCE * limit.toNanos();
    if (asked.isPresent()) {
      return now - asked.getAsLong() > patience ? Life.LOST : Life.SILENT;
    } else if (now - heard <= limit.toNanos()) {
      return Life.HEARD;
    } else if (!isLate && (late.isEmpty() || now - late.getAsLong() > patience)) {
      return Life.LOST;
    }
    asked = OptionalLong.of(now);
    return Life.TO_ASK;
  }

  /** Returns the reason for which it is lost. */
  String silence(Duration limit) {
    String text = "no sign of life for " + limit.toMillis() + " ms";
    return asked.isEmpty()
        ? text
        : text + ", and no answer within " + PATIENCE * limit.toMillis() + " ms";
  }

  boolean isInGeneration() {
    return doing == Doing.TRAINING || doing == Doing.DONE;
  }

  @Override
  public String toString() {
    return rank < 0 ? name : "rank " + rank + " (" + name + ")";
  }
}
