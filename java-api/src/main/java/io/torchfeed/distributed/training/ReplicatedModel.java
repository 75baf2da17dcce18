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
   * Runs a training step of a loss that counts as much as its weight. Each gradient becomes the
   * weighted mean over the ranks, and over all batches that {@link #accumulate(Supplier, double)}
   * has added: the gradient of the joint batch. Every rank must call it.
   *
   * <pre>{@code
   * for (Batch batch : batches) {
   *   optimizer.zero_grad();
   *   model.step(() -> meanLoss(batch), tokens(batch), optimizer::step);
   * }
   * }</pre>
   *
   * @param loss runs the forward pass; returns a single number, the mean over the counted tokens or
   *     samples. If the weight is 0, it is run, and its result is not used
   * @param weight how many tokens or samples the loss is the mean of; at least 0. Only the ratios
   *     of weights count. If all are 0, so are the gradients
   * @param update changes the parameters by their gradients, usually {@code optimizer::step}
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalArgumentException if the weight is negative, infinite or NaN, or the loss is not
   *     a single number that requires a gradient
   * @throws IllegalStateException if the model does not {@linkplain
   *     DataParallelOptions#withWeightedLosses take weights}, an earlier step failed, or this
   *     object is closed
   */
  void step(Supplier<Tensor> loss, double weight, Runnable update);

  /**
   * Adds the gradients of a loss to the gradients of the next {@link #step}, on this rank alone.
   *
   * @param loss runs the forward pass; returns a single number
   * @throws IllegalArgumentException if the loss is not a single number that requires a gradient
   * @throws IllegalStateException if an earlier step failed, or this object is closed
   */
  void accumulate(Supplier<Tensor> loss);

  /**
   * Adds the gradients of a loss, and its weight, to the next {@link #step(Supplier, double,
   * Runnable)} or {@link #stepAccumulated}, on this rank alone.
   *
   * @param loss as in {@link #step(Supplier, double, Runnable)}
   * @param weight as in {@link #step(Supplier, double, Runnable)}
   * @throws IllegalArgumentException if the weight is negative, infinite or NaN, or the loss is not
   *     a single number that requires a gradient
   * @throws IllegalStateException if the model does not take weights, an earlier step failed, or
   *     this object is closed
   */
  void accumulate(Supplier<Tensor> loss, double weight);

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
   * Scales the gradients of the parameters that are trained together so that their 2-norm, as one
   * vector, is at most a number; PyTorch's {@code clip_grad_norm_}. After gradients have been
   * averaged, the norm and the result are the same on all ranks, bit for bit:
   *
   * <pre>{@code
   * for (Batch batch : batches) {
   *   optimizer.zero_grad();
   *   model.backward(loss(batch));
   *   double norm = model.clipGradNorm(1.0);
   *   if (Double.isFinite(norm)) {
   *     optimizer.step();
   *   }
   * }
   * }</pre>
   *
   * <p>With a {@code GradScaler}, unscale the gradients before.
   *
   * @param maxNorm above 0; infinite to clip nothing
   * @return the norm before; infinite or NaN if a gradient is not finite, and all of them are then
   *     as before
   * @throws IllegalArgumentException if {@code maxNorm} is not above 0
   * @throws IllegalStateException if an earlier step failed, or this object is closed
   */
  double clipGradNorm(double maxNorm);

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
