// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import io.torchfeed.bindings.GradientReducer;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A scope in which the ranks of a {@link DistributedDataParallel} may have different numbers of
 * batches. A rank that has none left shadows the others: it contributes nothing to the gradients,
 * receives them, and takes the same optimizer steps, so that parameters and the optimizer's state
 * are the same on all ranks, bit for bit:
 *
 * <pre>{@code
 * try (UnevenInputs inputs = model.unevenInputs(Uneven.passes(loader.batches(epoch)))) {
 *   for (Batch batch : loader.epoch(epoch)) {
 *     optimizer.zero_grad();
 *     model.backward(loss(batch));
 *     optimizer.step();
 *   }
 *   inputs.shadow(optimizer::step);
 * }
 * }</pre>
 *
 * <p>The ranks exchange their numbers of batches once, when the scope begins; no step costs more
 * than without it. Ranks that do not know theirs {@linkplain #announce announce} each batch.
 * Buffers are copied from the lowest rank that has a batch in the step; with {@code
 * BEFORE_FORWARD}, ranks with batches must call {@code beforeForward}, in training mode, before
 * each pass.
 *
 * <p>Other operations of the group inside the scope, for example of the mean loss, must be the same
 * on all ranks: make them after each pass and in the step of {@code shadow}, or after the scope. A
 * rank that fails in the middle of a step should {@linkplain
 * io.torchfeed.distributed.ProcessGroup#abort abort} the group, since the others wait for it.
 *
 * <p>Backward passes inside {@link DistributedDataParallel#noSync} do not count. A scope that is
 * closed before all ranks have run their passes leaves the wrapper unusable. Not thread-safe: one
 * thread at a time.
 *
 * <p>Source: the protocol of PyTorch's {@code Join}, without its all-reduces in every step, and
 * without its copy of rank 0's parameters at the end.
 */
public final class UnevenInputs implements AutoCloseable {
  private final ModelReducer reducer;
  private final AtomicBoolean open = new AtomicBoolean(true);

  UnevenInputs(ModelReducer reducer) {
    this.reducer = reducer;
  }

  /**
   * Announces a batch of this rank, whose backward pass follows. Needed with {@link
   * Uneven#announced} only, before each backward pass that averages gradients.
   *
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if the previous batch that was announced has had no backward
   *     pass, no rank has batches left, an earlier backward pass failed, or the scope or the
   *     wrapper is closed
   */
  public void announce() {
    requireOpen();
    reducer.run("announce", GradientReducer::announce);
  }

  /**
   * Takes part in the backward passes of ranks that have batches left, until none has. To be called
   * by every rank after its own batches. Clears the gradients before each pass.
   *
   * @param step the action after each of these passes, when this rank has the other ranks'
   *     gradients: the same as after its own, usually {@code optimizer::step}. Its exceptions are
   *     thrown here; the ranks then differ
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if this rank has backward passes left, accumulates gradients, an
   *     earlier backward pass failed, or the scope or the wrapper is closed
   */
  public void shadow(Runnable step) {
    Objects.requireNonNull(step, "step");
    requireOpen();
    while (reducer.call("shadow", GradientReducer::shadow)) {
      step.run();
    }
  }

  private void requireOpen() {
    if (!open.get()) {
      throw new IllegalStateException("the scope is closed");
    }
  }

  /** Ends the scope; no effect the second time. */
  @Override
  public void close() {
    if (open.getAndSet(false)) {
      reducer.endUnevenInputs();
    }
  }
}
