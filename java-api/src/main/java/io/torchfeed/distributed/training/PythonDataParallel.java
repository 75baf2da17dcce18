// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.GradientReducer;
import io.torchfeed.distributed.PythonProcessGroup;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A module that ranks of Java and of Python train together: Python's wrap theirs by {@code
 * torch.nn.parallel.DistributedDataParallel}. Gradients are averaged in every backward pass, as by
 * {@link DistributedDataParallel}, and the operations are those that Python's wrapper has.
 *
 * <p>{@code close} has no effect the second time, and must not be called while another thread runs
 * {@code loss.backward()}. Not thread-safe: one thread at a time.
 *
 * <p>Source: libtorch 2.10.0, {@code c10d::Reducer}.
 */
public final class PythonDataParallel implements AutoCloseable {
  private final ModelReducer reducer;
  private final Module module;

  private PythonDataParallel(ModelReducer reducer, Module module) {
    this.reducer = reducer;
    this.module = module;
  }

  /**
   * Wraps a module with the {@linkplain DataParallelOptions#defaults default} options, which fit
   * Python's.
   *
   * @param module as in {@link #wrap(Module, PythonProcessGroup, DataParallelOptions)}
   * @param group the ranks; borrowed, and may be closed before the wrapper
   * @return the wrapper; the caller closes it
   */
  public static PythonDataParallel wrap(Module module, PythonProcessGroup group) {
    return wrap(module, group, DataParallelOptions.defaults());
  }

  /**
   * Wraps a module, and copies the values of rank 0 to the other ranks. Only the parts of the
   * modules that Python compares are compared, and no options.
   *
   * @param module the module to train, all of it on the CPU or on one device, of the same type on
   *     all ranks; borrowed
   * @param group the ranks; borrowed, and may be closed before the wrapper
   * @param options how gradients and buffers are treated, the same on all ranks
   * @return the wrapper; the caller closes it
   * @throws IllegalArgumentException if no parameter requires a gradient, a name to ignore is
   *     unknown, the ranks' modules differ, the exchange is not {@link GradientExchange#allReduce},
   *     or the buffer mode is neither {@link DataParallelOptions.BufferMode#BEFORE_FORWARD} nor
   *     {@link DataParallelOptions.BufferMode#OFF}
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if the group is closed or aborted
   */
  public static PythonDataParallel wrap(
      Module module, PythonProcessGroup group, DataParallelOptions options) {
    requireNonNull(group, "group");
    requireNonNull(module, "module");
    requireNonNull(options, "options");
    return new PythonDataParallel(ModelReducer.ofPython(module, group, options), module);
  }

  /**
   * Returns the wrapped module.
   *
   * @return the module itself
   */
  public Module module() {
    return module;
  }

  /**
   * Prepares a forward pass; it does the work that PyTorch does at the start of its {@code
   * forward}, since the forward pass here is the module's own. To be called before each forward
   * pass that Python's ranks run through their wrapper, also to evaluate: the first one without
   * gradients after training copies the buffers.
   *
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if an earlier backward pass failed, or the wrapper is closed
   */
  public void beforeForward() {
    reducer.run("beforeForward", GradientReducer::before_forward);
  }

  /**
   * Opens a scope in which backward passes accumulate gradients on this rank and send nothing, as
   * {@link DistributedDataParallel#noSync} does.
   *
   * @return the scope; the caller closes it
   * @throws IllegalStateException if the wrapper is closed, or the graph is static and its first
   *     backward pass has not been run yet
   */
  public DistributedDataParallel.NoSync noSync() {
    return reducer.noSync()::run;
  }

  /**
   * Runs the backward pass of the loss and returns when every gradient is the mean over the ranks
   * or, inside {@link #noSync}, has been added on this rank.
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
  public void close() {
    reducer.handle().close();
  }
}
