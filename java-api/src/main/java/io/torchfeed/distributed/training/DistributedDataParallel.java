// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.GradientReducer;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.distributed.ProcessGroup;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A module whose gradients are averaged over the ranks in every backward pass.
 *
 * <p>Wrapping checks that the options and the layout of parameters and buffers are the same on all
 * ranks, then copies the values of rank 0 to the others. From then on each gradient is the mean
 * over the ranks by the time a backward pass returns, whether it was started by {@link #backward}
 * or by {@code loss.backward()}; buckets of gradients are reduced while the remaining gradients are
 * still being computed. {@link #noSync} accumulates gradients over several batches; {@link
 * #unevenInputs} is for ranks whose numbers of batches differ. Every parameter that requires a
 * gradient must contribute to every loss, unless the {@link DataParallelOptions} say otherwise; one
 * that the module has under two names is reduced once. Gradients of {@code Embedding} and {@code
 * EmbeddingBag} may be sparse.
 *
 * <p>Training does not reveal that a rank loads other samples than it should: {@link
 * io.torchfeed.data.loader.DataLoaderBuilder#verifyRanks} compares the ranks once for each epoch.
 *
 * <p>The module may be on a GPU: {@link io.torchfeed.distributed.GroupOptions#withDevice} then lets
 * gradients be averaged from device to device; of the exchanges, only those in full, float16 and
 * bfloat16 take gradients of a device. Ranks that are threads of one process need different
 * devices, since libtorch runs all backward passes of a device in one thread.
 *
 * <p>A backward pass that fails after its first gradient leaves the wrapper unusable: every later
 * one fails and says why. The module and the process are not affected: {@link #close} ends the
 * reduction and leaves the module as it is. If the pass failed on all ranks for the same reason,
 * for example a parameter without gradient, all ranks may then clear the gradients and wrap the
 * module again on the same group. If it failed on some ranks only, the others wait for them until
 * the timeout of the group, and all ranks need a new group: see {@link #rebind}.
 *
 * <p>{@code close} has no effect the second time, and must not be called while another thread runs
 * {@code loss.backward()}. Not thread-safe: one thread at a time.
 *
 * <p>Source: libtorch 2.10.0, {@code c10d::Reducer}.
 */
public final class DistributedDataParallel implements ReplicatedModel {
  /** A scope in which backward passes accumulate gradients on this rank; ends when closed. */
  public interface NoSync extends AutoCloseable {
    /** Ends the scope; no effect the second time. */
    @Override
    void close();
  }

  private final ModelReducer reducer;
  private final Module module;
  private ProcessGroup group;

  private DistributedDataParallel(ModelReducer reducer, Module module, ProcessGroup group) {
    this.reducer = reducer;
    this.module = module;
    this.group = group;
  }

  /**
   * Wraps a module with the {@linkplain DataParallelOptions#defaults default} options.
   *
   * @param module as in {@link #wrap(Module, ProcessGroup, DataParallelOptions)}
   * @param group the ranks; borrowed, and may be closed before the wrapper
   * @return the wrapper; the caller closes it
   */
  public static DistributedDataParallel wrap(Module module, ProcessGroup group) {
    requireNonNull(group, "group");
    requireNonNull(module, "module");
    return wrap(module, group, DataParallelOptions.defaults());
  }

  /**
   * Wraps a module.
   *
   * @param module the module to train, all of it on the CPU or on one device, of the same type on
   *     all ranks; borrowed
   * @param group the ranks; borrowed, and may be closed before the wrapper
   * @param options how gradients and buffers are treated, the same on all ranks
   * @return the wrapper; the caller closes it
   * @throws IllegalArgumentException if no parameter requires a gradient, a name to ignore is
   *     unknown, the exchange does not take the gradients of a parameter, or the ranks' modules or
   *     options differ; the latter is thrown on every rank and names the first difference
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if the group is closed or aborted
   */
  public static DistributedDataParallel wrap(
      Module module, ProcessGroup group, DataParallelOptions options) {
    requireNonNull(group, "group");
    requireNonNull(module, "module");
    requireNonNull(options, "options");
    return new DistributedDataParallel(ModelReducer.of(module, group, options), module, group);
  }

  ProcessGroup group() {
    return group;
  }

  /** Multiplies the momenta that the exchange keeps by a factor. */
  void rescaleExchange(double factor) {
    reducer.handle().run(own -> own.rescale_exchange(factor));
  }

  /**
   * Continues in another group, of the ranks that are left and those that join: those that have a
   * wrapper call this method, those that join {@link #wrap} their module with the same options. The
   * values of the lowest rank that calls this method are copied to the others: parameters, buffers
   * if they are copied at all, and the state of the exchange that all ranks share; errors that a
   * rank feeds back remain its own, see {@link PowerSgd#withErrorFeedback}. Buckets are formed
   * again, and a static graph is recorded again, since a rank that joins has no others: training
   * continues as if the module was wrapped again with this state.
   *
   * <p>The group before may be closed, aborted or without ranks that are lost. After a backward
   * pass that failed, the wrapper is usable again: clear the gradients, and repeat the step. If
   * this method fails once the ranks have met, the wrapper is unusable until it is rebound.
   *
   * @param group the ranks from now on, borrowed as in {@link #wrap}
   * @throws IllegalArgumentException if the ranks' modules or options differ, which is thrown on
   *     every rank; the nodes of the exchange do not divide the ranks; or with {@link
   *     GradientExchange#qAdam}, only one of both groups has a single rank
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if a backward pass is in progress, gradients have been
   *     accumulated and not been averaged since, a {@link #noSync} or {@link #unevenInputs} scope
   *     is open, or the wrapper or the new group is closed or aborted
   */
  @Override
  public void rebind(ProcessGroup group) {
    requireNonNull(group, "group");
    reducer.rebind(group);
    this.group = group;
  }

  @Override
  public Module module() {
    return module;
  }

  /**
   * Opens a scope in which backward passes accumulate gradients on this rank and send nothing. The
   * first backward pass after it averages the accumulated gradients over the ranks:
   *
   * <pre>{@code
   * try (var accumulating = model.noSync()) {
   *   for (Batch batch : firstBatches) {
   *     model.backward(loss(batch));
   *   }
   * }
   * model.backward(loss(lastBatch)); // the mean over the ranks of the sum over all these batches
   * }</pre>
   *
   * <p>The start of the backward pass counts; in PyTorch, the forward pass does. Scopes may be
   * nested. All ranks must average in the same passes.
   *
   * @return the scope; the caller closes it
   * @throws IllegalStateException if the wrapper is closed, or the graph is static and its first
   *     backward pass has not been run yet
   */
  public NoSync noSync() {
    return reducer.noSync()::run;
  }

  /**
   * Begins a scope in which the ranks may run different numbers of backward passes, PyTorch's
   * {@code join}: those that have run all of theirs {@linkplain UnevenInputs#shadow shadow} the
   * others. Every rank must call it.
   *
   * @param uneven how many passes this rank is going to run, and the divisor of sums of gradients;
   *     the same on all ranks but for the number of passes
   * @return the scope; the caller closes it
   * @throws IllegalArgumentException on every rank, if the ranks' values differ in more than the
   *     number of passes, or a rank calls another operation of the group
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if a scope is open, an earlier backward pass failed, the wrapper
   *     is closed, or the graph is static, its first backward pass has not been run yet, and some
   *     ranks have passes and others none
   */
  public UnevenInputs unevenInputs(Uneven uneven) {
    return requireNonNull(uneven, "uneven").begin(reducer);
  }

  /**
   * Prepares the forward pass of a training step; it does the work that PyTorch does at the start
   * of its {@code forward}, since the forward pass here is the module's own. Needed with {@link
   * DataParallelOptions.BufferMode#BEFORE_FORWARD} only. All ranks must call it, or none. No effect
   * if the module is in evaluation mode or gradients are disabled, so that one rank may evaluate
   * alone.
   *
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if an earlier backward pass failed, or the wrapper is closed
   */
  public void beforeForward() {
    if (module.is_training()) {
      reducer.run("beforeForward", GradientReducer::before_forward);
    }
  }

  /**
   * Copies the buffers of rank 0 to all ranks, in any {@linkplain DataParallelOptions.BufferMode
   * buffer mode}. Every rank must call it.
   *
   * @throws IllegalArgumentException on every rank, if a rank calls another operation of the group
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if an earlier backward pass failed, or the wrapper is closed
   */
  public void broadcastBuffers() {
    reducer.run("broadcastBuffers", GradientReducer::broadcast_buffers);
  }

  /**
   * Runs the backward pass of the loss and returns when every gradient is the mean over the ranks
   * or, inside {@link #noSync}, has been added on this rank.
   *
   * <p>Equivalent to {@code loss.backward()}, but with typed exceptions.
   *
   * @param loss a single number to which all trained parameters contribute, unless the options or
   *     {@link #noSync} allow less
   * @throws IllegalArgumentException if the loss is not a single number that requires a gradient
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if a parameter received no gradient, or one that is unexpected or
   *     unexpectedly sparse or dense (the message names it), the loss depends on no parameter, an
   *     earlier backward pass failed, or the wrapper is closed
   */
  public void backward(Tensor loss) {
    reducer.backward(loss);
  }

  /**
   * Runs the backward pass of a loss that counts as much as its weight. When it returns, each
   * gradient is the sum over the ranks of the gradients of {@code weight * loss}, divided by the
   * sum of their weights: the gradient of the joint batch, however tokens or samples are divided.
   *
   * <p>Inside {@link #noSync}, gradients and weights add up until the pass that averages, or until
   * the gradients are cleared, which must happen before each step. Ranks that {@linkplain
   * UnevenInputs#shadow shadow} others have a weight of 0.
   *
   * @param loss a single number, as in {@link #backward(Tensor)}: the mean over the counted tokens
   *     or samples. If the weight is 0 it is not used, and may be NaN
   * @param weight how many tokens or samples the loss is the mean of, at least 0; its ratio to the
   *     weights of other batches and ranks counts. If all are 0, so are the gradients
   * @throws IllegalArgumentException if the weight is negative, infinite, NaN or too large for the
   *     dtype of the loss, or the loss is not a single number that requires a gradient; nothing has
   *     been sent then
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if the options do not have {@link
   *     DataParallelOptions#withWeightedLosses}; the weight is 0 in the first pass over a static
   *     graph; or as in {@link #backward(Tensor)}
   */
  public void backward(Tensor loss, double weight) {
    reducer.backward(loss, weight);
  }

  @Override
  public double clipGradNorm(double maxNorm) {
    return reducer.handle().call(own -> own.clip(maxNorm));
  }

  @Override
  public void step(Supplier<Tensor> loss, double weight, Runnable update) {
    requireNonNull(loss, "loss");
    requireNonNull(update, "update");
    backward(Losses.of(loss), weight);
    update.run();
  }

  @Override
  public void accumulate(Supplier<Tensor> loss, double weight) {
    requireNonNull(loss, "loss");
    accumulating(() -> backward(Losses.of(loss), weight));
  }

  @Override
  public void step(Supplier<Tensor> loss, Runnable update) {
    requireNonNull(loss, "loss");
    requireNonNull(update, "update");
    backward(Losses.of(loss));
    update.run();
  }

  @Override
  public void stepAccumulated(Runnable update) {
    requireNonNull(update, "update");
    reducer.run("stepAccumulated", GradientReducer::average_accumulated);
    update.run();
  }

  @Override
  public void accumulate(Supplier<Tensor> loss) {
    requireNonNull(loss, "loss");
    accumulating(() -> backward(Losses.of(loss)));
  }

  @SuppressWarnings("try") // a scope works by being open
  private void accumulating(Runnable pass) {
    try (NoSync accumulating = noSync()) {
      pass.run();
    }
  }

  /** Does nothing: the parameters are equal after each step. */
  @Override
  public void average() {}

  /**
   * Returns the total time that backward passes have waited for reductions not overlapped with
   * their own computation.
   *
   * @return nanoseconds from the last gradient's arrival to the end of the reduction, summed over
   *     all backward passes
   * @throws IllegalStateException if the wrapper is closed
   */
  public long reductionNanos() {
    return reducer.handle().call(GradientReducer::reduction_nanos);
  }

  /**
   * Returns the number of backward passes that have completed with averaged gradients.
   *
   * @return at least 0
   * @throws IllegalStateException if the wrapper is closed
   */
  public long reductions() {
    return reducer.handle().call(GradientReducer::reductions);
  }

  /**
   * Returns the reductions so far, and their time.
   *
   * @return a snapshot
   * @throws IllegalStateException if the wrapper is closed
   */
  public ReductionStats stats() {
    return reducer.handle().call(ReductionStats::of);
  }

  /**
   * Returns a digest of this rank's parameters.
   *
   * @return the SHA-256 of the names, sizes and bytes of all parameters, in hexadecimal
   * @throws IllegalStateException if the wrapper is closed
   */
  public String digest() {
    return reducer.digest();
  }

  @Override
  public String verifyReplicas() {
    return reducer.verifyReplicas(group);
  }

  /**
   * Returns this rank's state, beside the parameters and the optimizer, to continue as if the
   * training had not been stopped: the buckets formed after the first backward pass, since
   * roundings depend on them; the parts of a static graph that this pass used; the gradients and
   * random numbers that the exchange keeps; and the buffers of the module. Every rank must call it,
   * and store its own state: they differ.
   *
   * @return the state; the caller closes it
   * @throws IllegalStateException if gradients have been accumulated and not been averaged since, a
   *     {@link #unevenInputs} scope is open, an earlier backward pass failed, or the wrapper is
   *     closed
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   */
  @Override
  public StateDict stateDict() {
    return reducer.stateDict();
  }

  /**
   * Continues from a state of the same rank, before the first backward pass. Every rank must do it.
   * The parameters must be loaded before wrapping, which copies rank 0's; the number of ranks, the
   * model and the options must be the state's.
   *
   * @param state borrowed
   * @throws IllegalArgumentException if the state is of another rank, number of ranks, model or
   *     options, or malformed; the message names the first difference
   * @throws IllegalStateException if a backward pass has been run, or the wrapper is closed
   */
  @Override
  public void loadStateDict(StateDict state) {
    requireNonNull(state, "state");
    reducer.loadStateDict(state);
  }

  @Override
  public void close() {
    reducer.handle().close();
  }
}
