// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.GradientReducer;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.ReducerOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A module whose gradients are averaged over the ranks in every backward pass.
 *
 * <p>Wrapping checks that the options and the layout of parameters and buffers are the same on all
 * ranks, then copies the values of rank 0 to the others. From then on each gradient is the mean
 * over the ranks by the time a backward pass returns, whether it was started by {@link #backward}
 * or by {@code loss.backward()}; buckets of gradients are reduced while the remaining gradients are
 * still being computed. {@link #noSync} accumulates gradients over several batches. Every parameter
 * that requires a gradient must contribute to every loss, unless {@link
 * DistributedDataParallelOptions} say otherwise; one that the module has under two names is reduced
 * once. Gradients of {@code Embedding} and {@code EmbeddingBag} may be sparse.
 *
 * <p>A backward pass that fails after its first gradient leaves the wrapper unusable: every later
 * one fails and says why. The module and the process are not affected: {@link #close} ends the
 * reduction and leaves the module as it is. If the pass failed on all ranks for the same reason,
 * for example a parameter without gradient, all ranks may then clear the gradients and wrap the
 * module again on the same group. If it failed on some ranks only, the others wait for them until
 * the timeout of the group, and all ranks need a new group.
 *
 * <p>{@code close} has no effect the second time, and must not be called while another thread runs
 * {@code loss.backward()}. Not thread-safe: one thread at a time.
 *
 * <p>Source: libtorch 2.10.0, {@code c10d::Reducer}.
 */
public final class DistributedDataParallel implements AutoCloseable {
  /** A scope in which backward passes accumulate gradients on this rank; ends when closed. */
  public interface NoSync extends AutoCloseable {
    /** Ends the scope; no effect the second time. */
    @Override
    void close();
  }

  private final NativeHandle<GradientReducer> handle;
  private final ProcessGroup group;
  private final Module module;

  private DistributedDataParallel(
      NativeHandle<GradientReducer> handle, ProcessGroup group, Module module) {
    this.handle = handle;
    this.group = group;
    this.module = module;
  }

  /**
   * Wraps a module with the {@linkplain DistributedDataParallelOptions#defaults default} options.
   *
   * @param module the module to train, on the CPU; borrowed
   * @param group the ranks; borrowed, and may be closed before the wrapper
   * @return the wrapper; the caller closes it
   * @throws IllegalArgumentException if no parameter requires a gradient, or the ranks' modules
   *     differ; the latter is thrown on every rank and names the first difference
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   */
  public static DistributedDataParallel wrap(Module module, ProcessGroup group) {
    return wrap(module, group, DistributedDataParallelOptions.defaults());
  }

  /**
   * Wraps a module.
   *
   * @param module the module to train, on the CPU; borrowed
   * @param group the ranks; borrowed, and may be closed before the wrapper
   * @param options how gradients and buffers are treated, the same on all ranks
   * @return the wrapper; the caller closes it
   * @throws IllegalArgumentException if no parameter requires a gradient, a name to ignore is
   *     unknown, or the ranks' modules or options differ; the latter is thrown on every rank and
   *     names the first difference
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   */
  public static DistributedDataParallel wrap(
      Module module, ProcessGroup group, DistributedDataParallelOptions options) {
    Objects.requireNonNull(options, "options");
    try (PointerScope scope = new PointerScope()) {
      ModuleTensors.requireNames(module, options.ignored());
      ModuleTensors parameters = ModuleTensors.parameters(module, options.ignored());
      ModuleTensors buffers = ModuleTensors.buffers(module, options.ignored());
      ReducerOptions nativeOptions = options.toNative(module);
      NativeHandle<GradientReducer> handle =
          group.make(
              "wrap",
              nativeGroup ->
                  NativeHandle.create(
                      "DistributedDataParallel",
                      () ->
                          GradientReducer.create(
                              nativeGroup,
                              ModuleTensors.lines(parameters.names()),
                              parameters.tensors(),
                              ModuleTensors.lines(buffers.names()),
                              buffers.tensors(),
                              nativeOptions)));
      return new DistributedDataParallel(handle, group, module);
    }
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
   * Opens a scope in which backward passes accumulate gradients on this rank and send nothing. The
   * first backward pass after it averages what has accumulated over the ranks:
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
   * <p>What counts is where the backward pass begins; in PyTorch, it is the forward pass. Scopes
   * may be nested. All ranks must average in the same passes.
   *
   * @return the scope; the caller closes it
   * @throws IllegalStateException if the wrapper is closed, or the graph is static and its first
   *     backward pass has not been run yet
   */
  public NoSync noSync() {
    boolean outer = handle.call(GradientReducer::is_synchronized);
    handle.run(reducer -> reducer.set_synchronized(false));
    AtomicBoolean open = new AtomicBoolean(true);
    return () -> {
      if (open.getAndSet(false) && !handle.isClosed()) {
        handle.run(reducer -> reducer.set_synchronized(outer));
      }
    };
  }

  /**
   * Prepares the forward pass of a training step; the place for what PyTorch does at the start of
   * its {@code forward}, since the forward pass here is that of the module itself. Needed with
   * {@link DistributedDataParallelOptions.BufferMode#BEFORE_FORWARD} only. All ranks must call it,
   * or none. No effect if the module is in evaluation mode or gradients are disabled, so that one
   * rank may evaluate alone.
   *
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   * @throws IllegalStateException if an earlier backward pass failed, or the wrapper is closed
   */
  public void beforeForward() {
    if (module.is_training()) {
      run("beforeForward", GradientReducer::before_forward);
    }
  }

  /**
   * Copies the buffers of rank 0 to all ranks, in any {@link
   * DistributedDataParallelOptions.BufferMode}. Every rank must call it.
   *
   * @throws IllegalArgumentException on every rank, if a rank calls another operation of the group
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   * @throws IllegalStateException if the wrapper is closed
   */
  public void broadcastBuffers() {
    run("broadcastBuffers", GradientReducer::broadcast_buffers);
  }

  /**
   * Runs the backward pass of the loss and returns when every gradient is the mean over the ranks
   * or, inside {@link #noSync}, has been added on this rank.
   *
   * <p>Equivalent to {@code loss.backward()}, but with typed exceptions.
   *
   * @param loss a single number to which all trained parameters contribute, unless the options or
   *     {@link #noSync} allow less
   * @throws IllegalArgumentException if the loss is not a single number with a gradient
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   * @throws IllegalStateException if a parameter received no gradient, an unexpected or a sparse
   *     one (the message names it), an earlier backward pass failed, or the wrapper is closed
   */
  public void backward(Tensor loss) {
    Objects.requireNonNull(loss, "loss");
    run("backward", reducer -> reducer.backward(loss));
  }

  private void run(String operation, Consumer<GradientReducer> body) {
    long start = System.nanoTime();
    try {
      handle.run(body);
    } catch (NativeException e) {
      throw group.failure(operation, start, e);
    }
  }

  /**
   * Returns the total time that backward passes have waited for reductions not overlapped with
   * their own computation.
   *
   * @return nanoseconds from the last gradient's arrival to the end of the reduction, summed over
   *     all backward passes
   * @throws IllegalStateException if the wrapper is closed
   */
  public long reductionNanos() {
    return handle.call(GradientReducer::reduction_nanos);
  }

  /**
   * Returns the number of backward passes that have completed with averaged gradients.
   *
   * @return at least 0
   * @throws IllegalStateException if the wrapper is closed
   */
  public long reductions() {
    return handle.call(GradientReducer::reductions);
  }

  /**
   * Returns what has been reduced, and how long it took.
   *
   * @return a snapshot
   * @throws IllegalStateException if the wrapper is closed
   */
  public ReductionStats stats() {
    return handle.call(DistributedDataParallel::stats);
  }

  private static ReductionStats stats(GradientReducer reducer) {
    List<ReductionStats.Bucket> buckets = new ArrayList<>();
    for (long i = 0; i < reducer.bucket_count(); i++) {
      try (BytePointer names = reducer.bucket_parameters(i)) {
        buckets.add(
            new ReductionStats.Bucket(
                names.getString().lines().toList(),
                reducer.bucket_bytes(i),
                reducer.bucket_reductions(i),
                Duration.ofNanos(reducer.bucket_nanos(i))));
      }
    }
    return new ReductionStats(
        reducer.reductions(),
        Duration.ofNanos(reducer.reduction_nanos()),
        Duration.ofNanos(reducer.communication_nanos()),
        Duration.ofNanos(reducer.overlapped_nanos()),
        buckets);
  }

  /**
   * Returns a digest of this rank's parameters.
   *
   * @return the SHA-256 of the names, sizes and bytes of all parameters, in hexadecimal
   * @throws IllegalStateException if the wrapper is closed
   */
  public String digest() {
    return HexFormat.of().formatHex(ReplicaDigest.of(handle));
  }

  /**
   * Verifies that the parameters of all ranks are identical, bit for bit. Every rank must call it.
   *
   * @return the common {@link #digest}
   * @throws IllegalStateException on every rank, if a rank's parameters differ from those of rank
   *     0; the message names that rank
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   */
  public String verifyReplicas() {
    byte[] mine = ReplicaDigest.of(handle);
    ReplicaDigest.requireEqual(mine, group);
    return HexFormat.of().formatHex(mine);
  }

  @Override
  public void close() {
    handle.close();
  }
}
