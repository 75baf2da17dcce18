// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.distributed.ProcessGroup;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A module that the ranks of a group train together, by exchanging gradients or weights: one loop
 * trains with either.
 *
 * <pre>{@code
 * for (Batch batch : batches) {
 *   optimizer.zero_grad();
 *   model.step(() -> loss(batch), optimizer::step);
 * }
 * model.average();
 * model.verifyReplicas();
 * }</pre>
 *
 * <p>Not thread-safe: one thread at a time.
 */
public sealed interface ReplicatedModel extends Stateful, AutoCloseable
    permits DistributedDataParallel, ModelAveraging, SingleModel {
  /**
   * Returns the wrapped module.
   *
   * @return the module itself
   */
  Module module();

  /**
   * Runs a training step, with the exchange that belongs to it. Every rank must call it.
   *
   * @param loss runs the forward pass; returns a single number
   * @param update changes the parameters by their gradients, usually {@code optimizer::step}
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalArgumentException if the loss is not a single number that requires a gradient
   * @throws IllegalStateException if an earlier step failed, or this object is closed
   */
  void step(Supplier<Tensor> loss, Runnable update);

  /**
   * Adds the gradients of a loss to the gradients of the next {@link #step}, on this rank alone.
   *
   * @param loss runs the forward pass; returns a single number
   * @throws IllegalArgumentException if the loss is not a single number that requires a gradient
   * @throws IllegalStateException if an earlier step failed, or this object is closed
   */
  void accumulate(Supplier<Tensor> loss);

  /**
   * Runs the step of the gradients that {@link #accumulate} has added since the last one, without
   * another loss: for the last batches of an epoch, if they are too few for a whole step. Every
   * rank must call it; one that has accumulated nothing contributes gradients of 0.
   *
   * @param update changes the parameters by their gradients, usually {@code optimizer::step}
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if an earlier step failed, this object is closed, a scope is open
   *     in which gradients are only accumulated, or the graph is static and no step has been run
   */
  void stepAccumulated(Runnable update);

  /**
   * Makes the parameters of all ranks equal, where training lets them differ. Every rank must call
   * it.
   *
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if an earlier step failed, or this object or the group is closed
   */
  void average();

  /**
   * Verifies that the parameters of all ranks are identical, bit for bit. Every rank must call it.
   *
   * @return the SHA-256 of the parameters that are trained together, in hexadecimal
   * @throws IllegalStateException on every rank, if a rank's parameters differ from rank 0's (the
   *     message names that rank); if an earlier step failed, or this object or the group is closed
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   */
  String verifyReplicas();

  /**
   * Continues in another group, of the ranks that are left and those that join. Ranks that join
   * wrap their module meanwhile.
   *
   * @param group the ranks from now on; borrowed
   * @throws IllegalArgumentException if the group does not fit, or the ranks differ
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if a step is in progress, or this object or the new group is
   *     closed or aborted
   */
  void rebind(ProcessGroup group);

  @Override
  void close();
}
