// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The messages about a generation that its member has got. Not thread-safe. */
final class WorldNews {
  static final Runnable NOTHING = () -> {};

  Message.@Nullable Formed formed;
  Message.@Nullable Master master;

  /** Why the generation ended. */
  @Nullable String broken;

  /** The steps that were completed when the generation was to be changed. */
  OptionalLong at = OptionalLong.empty();

  OptionalLong stopAfter = OptionalLong.empty();

  /** Runs once when the generation ends in the middle of a step. */
  Runnable whenBroken = NOTHING;

  void clear() {
    formed = null;
    master = null;
    broken = null;
    at = OptionalLong.empty();
    stopAfter = OptionalLong.empty();
    whenBroken = NOTHING;
  }

  /** Returns the action for the end, unless it was taken before. */
  Runnable takeAction() {
    Runnable action = whenBroken;
    whenBroken = NOTHING;
    return action;
  }

  /** Takes messages that say where to meet, when to stop, and that the generation is no more. */
  void take(Message message) {
    if (message instanceof Message.Formed m) {
      formed = m;
    } else if (message instanceof Message.Master m && isCurrent(m.generation())) {
      master = m;
    } else if (message instanceof Message.StopAfter m && isCurrent(m.generation())) {
      stopAfter = OptionalLong.of(m.step());
    } else if (message instanceof Message.Broken m && isCurrent(m.generation())) {
      broken = m.reason();
    }
  }

  /** Returns whether the member can enter the generation, or knows that it is no more. */
  boolean isDecided() {
    return formed != null && (broken != null || formed.rank() == 0 || master != null);
  }

  /** Returns whether the member waits to learn if the step after these is the last one. */
  boolean isUndecided(long completed) {
    return broken == null && at.isPresent() && stopAfter.isEmpty() && completed > at.getAsLong();
  }

  /** Returns whether the generation ends with these steps, or has ended. */
  boolean isOver(long completed) {
    return broken != null || (stopAfter.isPresent() && completed >= stopAfter.getAsLong());
  }

  boolean isCurrent(int generation) {
    return formed != null && formed.generation() == generation;
  }
}
