// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.distributed.ProcessGroup;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where the ranks of a {@link TrainingLoop} come from: one process alone, a group that stays, or
 * elastic ranks.
 *
 * <p>To be implemented by sources of ranks; programs get one from {@link #of} or a package such as
 * {@code io.torchfeed.elastic}. The methods other than {@link #areFixed}, {@link #haveOwnData},
 * {@link #store} and {@link #requestLeave} are called by the loop, in one thread. Those that have a
 * body here suit ranks that stay the same until the end.
 */
public interface Ranks {
  /**
   * Returns the ranks of a group, which all complete the training, or none.
   *
   * @param group borrowed
   * @return the ranks
   */
  static Ranks of(ProcessGroup group) {
    return new FixedRanks(requireNonNull(group, "group"));
  }

  /**
   * Waits for the ranks that train together next, and joins them. A source of ranks that stay is
   * called once, before {@link #isStateHeld} and all other methods.
   *
   * @param reason why this rank left the ranks before in the middle of a step; else empty
   * @return whether there are any; else others have completed the training
   * @throws InterruptedException if this thread is interrupted
   */
  boolean next(String reason) throws InterruptedException;

  /**
   * Returns the group of the current ranks.
   *
   * @return the group, owned by this object; empty if this process is alone
   */
  Optional<ProcessGroup> group();

  /**
   * Returns whether the ranks stay the same until the end. Then each rank keeps a state of its own;
   * else all have the same state, which a rank that joins copies from rank 0.
   *
   * @return by default, true
   */
  default boolean areFixed() {
    return true;
  }

  /**
   * Returns whether each rank has data of its own, rather than a part of the data of all. Only for
   * ranks that stay.
   *
   * @return by default, false
   */
  default boolean haveOwnData() {
    return false;
  }

  /**
   * Returns where the state is saved; called once, when the loop is built.
   *
   * @param checkpoints the folder of the loop; null if it has none
   * @return the store
   */
  StateStore store(@Nullable Checkpoints checkpoints);

  /**
   * Returns whether rank 0 holds the state of the training; else each rank loads it.
   *
   * @return by default, false
   */
  default boolean isStateHeld() {
    return false;
  }

  /**
   * Copies the state of rank 0 to the other ranks. All ranks call it together; never called if
   * {@link #areFixed}.
   *
   * @param state of this rank
   */
  default void share(Stateful state) {
    requireNonNull(state, "state");
  }

  /**
   * Notes that this rank holds the whole state after a number of steps.
   *
   * @param completed the steps completed
   * @return whether this rank is to call {@link #next} now; by default, false
   * @throws InterruptedException if this thread is interrupted
   */
  default boolean commit(long completed) throws InterruptedException {
    return false;
  }

  /**
   * Returns why the current ranks cannot continue together, if so.
   *
   * @return by default, empty
   */
  default Optional<String> broken() {
    return Optional.empty();
  }

  /**
   * Returns whether a failure came from the end of the current ranks, so that {@link #next}
   * follows.
   *
   * @param failure of a step or of another operation of the group
   * @return by default, false: it ends the training
   */
  default boolean isBrokenBy(RuntimeException failure) {
    requireNonNull(failure, "failure");
    return false;
  }

  /** Leaves the current ranks; {@link #next} may follow. */
  default void leave() {}

  /**
   * Waits until all ranks have completed the training.
   *
   * @throws InterruptedException if this thread is interrupted
   */
  default void finish() throws InterruptedException {}

  /**
   * Returns whether a failure says that this rank has left as it was asked to.
   *
   * @param failure of a method of this object
   * @return by default, false
   */
  default boolean isLeft(RuntimeException failure) {
    requireNonNull(failure, "failure");
    return false;
  }

  /**
   * Asks to leave at the end of a step, while the others continue; from any thread. {@link #commit}
   * then returns true. Only called if ranks do not stay: of those that do, the loop stops all.
   */
  default void requestLeave() {}

  /**
   * Notes that this rank cannot continue.
   *
   * @param failure the reason
   */
  default void fail(Throwable failure) {
    requireNonNull(failure, "failure");
  }
}
