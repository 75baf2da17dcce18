// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

/**
 * An object that keeps something from one training step to the next.
 *
 * <pre>{@code
 * // between two steps, on every rank
 * try (StateDict state = model.stateDict()) {
 *   save(group.rank(), state);
 * }
 *
 * // in a new process, before the first step
 * var model = DistributedDataParallel.wrap(net, group, options); // as before
 * try (StateDict state = saved(group.rank())) {
 *   model.loadStateDict(state);
 * }
 * }</pre>
 *
 * <p>Source: torch 2.10.0, {@code torch.distributed.checkpoint.stateful.Stateful}.
 */
public interface Stateful {
  /**
   * Returns the object's state, as copies.
   *
   * @return the state; the caller closes it
   * @throws IllegalStateException if a step is in progress, an earlier one failed, or the object is
   *     closed
   */
  StateDict stateDict();

  /**
   * Returns the object's state for use at once: its tensors may be the object's own, which saves
   * the time and the memory of copies. Until the state is closed, the object must not change. By
   * default the same as {@link #stateDict}; override it, by {@link StateDict#sharing}, where the
   * tensors are large.
   *
   * @return the state, not to be written to; the caller closes it
   * @throws IllegalStateException as {@link #stateDict}
   */
  default StateDict sharedStateDict() {
    return stateDict();
  }

  /**
   * Continues from a state, which is copied. The object must have been made as the one that gave
   * out the state, with the same options. A state that is refused changes nothing.
   *
   * @param state borrowed
   * @throws IllegalArgumentException if the state is of another object, or malformed; the message
   *     names the first difference
   * @throws IllegalStateException if the moment is wrong, or the object is closed
   */
  void loadStateDict(StateDict state);
}
