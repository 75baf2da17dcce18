// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import java.util.OptionalLong;

/** A connected process, as its coordinator knows it. */
final class Member {
  /** The activity of a member. */
  enum Doing {
    /** Connected, but not ready: it loads its data. */
    PREPARING,
    /** Waiting for a world. */
    WAITING,
    /** In the current generation. */
    TRAINING,
    /** In the current generation, at the end of the training. */
    DONE
  }

  final long id;
  final String name;
  Doing doing = Doing.PREPARING;
  int rank = -1;
  long step = Message.NO_STEP;
  OptionalLong at = OptionalLong.empty();
  boolean isLeaving;

  /** It has completed a step, or taken the state after one. */
  boolean isHolder;

  long heard;

  /** The time at which a sign of life was answered. */
  OptionalLong answered = OptionalLong.empty();

  Member(long id, String name, long now) {
    this.id = id;
    this.name = name;
    this.heard = now;
  }

  boolean isInGeneration() {
    return doing == Doing.TRAINING || doing == Doing.DONE;
  }

  @Override
  public String toString() {
    return rank < 0 ? name : "rank " + rank + " (" + name + ")";
  }
}
