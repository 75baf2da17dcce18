// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import io.torchfeed.internal.Checks;

/**
 * The backward passes of a rank in a {@linkplain DistributedDataParallel#unevenInputs scope} in
 * which the ranks may have different numbers of them.
 *
 * <pre>{@code
 * model.unevenInputs(Uneven.passes(10));
 * model.unevenInputs(Uneven.announced().divideByActive());
 * }</pre>
 *
 * <table>
 * <caption>Of 4 ranks, 3 have a batch in a step</caption>
 * <tr><th></th><th>a gradient is</th><th>messages for the numbers of batches</th></tr>
 * <tr><td>{@code passes(n)}</td><td>the sum of 3 ranks, divided by 4</td>
 *     <td>one exchange when the scope begins</td></tr>
 * <tr><td>{@code passes(n).divideByActive()}</td><td>the sum of 3 ranks, divided by 3</td>
 *     <td>one exchange when the scope begins</td></tr>
 * <tr><td>{@code announced()}</td><td>the sum of 3 ranks, divided by 4</td>
 *     <td>an all-reduce of 8 bytes per rank in each step</td></tr>
 * <tr><td>{@code announced().divideByActive()}</td><td>the sum of 3 ranks, divided by 3</td>
 *     <td>an all-reduce of 8 bytes per rank in each step</td></tr>
 * </table>
 *
 * <p>Ranks must agree on the row of this table; their numbers of passes may differ. Immutable.
 */
public final class Uneven {
  private static final long NOT_COUNTED = -1;

  private final long passes;
  private final boolean divideByActive;

  private Uneven(long passes, boolean divideByActive) {
    this.passes = passes;
    this.divideByActive = divideByActive;
  }

  /**
   * Says how many backward passes this rank is going to run.
   *
   * @param passes how many backward passes that average gradients this rank is going to run in the
   *     scope, at least 0; for example the number of its batches
   * @return the value
   * @throws IllegalArgumentException if the number is below 0
   */
  public static Uneven passes(long passes) {
    return new Uneven(Checks.requireAtLeastZero("passes", passes), false);
  }

  /**
   * Says that this rank does not know how many batches it is going to have, for example a stream's,
   * and {@linkplain UnevenInputs#announce announces} each of them before its backward pass.
   *
   * @return the value
   */
  public static Uneven announced() {
    return new Uneven(NOT_COUNTED, false);
  }

  /**
   * Divides the sum of the gradients by the number of ranks that have a batch in the step, so that
   * each step has the same weight; PyTorch's {@code divide_by_initial_world_size=False}. Without
   * it, the divisor is the number of all ranks, so that each sample has the same weight in every
   * step. No effect with {@linkplain DataParallelOptions#withWeightedLosses weighted losses}, whose
   * weights are the divisor.
   *
   * @return the new value
   */
  public Uneven divideByActive() {
    return new Uneven(passes, true);
  }

  UnevenInputs begin(ModelReducer reducer) {
    reducer.run("unevenInputs", own -> own.begin_uneven_inputs(passes, divideByActive));
    return new UnevenInputs(reducer);
  }

  /**
   * Returns the calls that make the value.
   *
   * @return for example {@code Uneven.passes(10).divideByActive()}
   */
  @Override
  public String toString() {
    return "Uneven."
        + (passes == NOT_COUNTED ? "announced()" : "passes(%d)".formatted(passes))
        + (divideByActive ? ".divideByActive()" : "");
  }
}
