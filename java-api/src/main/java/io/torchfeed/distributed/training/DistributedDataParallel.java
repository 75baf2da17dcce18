// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import io.torchfeed.bindings.GradientReducer;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.bindings.ReducerOptions;
import io.torchfeed.bindings.ReducerState;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * A module whose gradients are averaged over the ranks in every backward pass.
 *
 * <p>Wrapping checks that the options and the layout of parameters and buffers are the same on all
 * ranks, then copies the values of rank 0 to the others. From then on each gradient is the mean
 * over the ranks by the time a backward pass returns, whether it was started by {@link #backward}
 * or by {@code loss.backward()}; buckets of gradients are reduced while the remaining gradients are
 * still being computed. {@link #noSync} accumulates gradients over several batches; {@link #join}
 * is for ranks whose numbers of batches differ. Every parameter that requires a gradient must
 * contribute to every loss, unless the {@link Options} say otherwise; one that the module has under
 * two names is reduced once. Gradients of {@code Embedding} and {@code EmbeddingBag} may be sparse.
 *
 * <p>The module may be on a GPU: {@link ProcessGroup#useDevice} then lets gradients be averaged
 * from device to device; of the exchanges, only those in full, float16 and bfloat16 take gradients
 * of a device. Ranks that are threads of one process need different devices, since libtorch runs
 * all backward passes of a device in one thread.
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
public final class DistributedDataParallel implements Stateful, AutoCloseable {
  /** The moments at which buffers, for example running statistics, are copied from rank 0. */
  public enum BufferMode {
    /** Never, not even when the module is wrapped; PyTorch's {@code broadcast_buffers=False}. */
    OFF(ReducerOptions.kOff),

    /** Once when the module is wrapped, and at each call of {@link #broadcastBuffers}. */
    ON_REQUEST(ReducerOptions.kOnRequest),

    /**
     * When the module is wrapped, and at each call of {@link #beforeForward} unless the previous
     * one was inside {@link #noSync}; PyTorch's default.
     */
    BEFORE_FORWARD(ReducerOptions.kBeforeForward),

    /**
     * When the module is wrapped, and at the end of each backward pass that averages gradients. The
     * default, since it needs no call in the training loop and leaves equal buffers on all ranks
     * after every step.
     */
    AFTER_BACKWARD(ReducerOptions.kAfterBackward);

    private final int code;

    BufferMode(int code) {
      this.code = code;
    }
  }

  /**
   * The options of a wrapper, the same on all ranks. Immutable: each {@code with} method returns
   * new options.
   */
  public static final class Options {
    private static final Options DEFAULTS = new Options();

    private long firstBucketBytes = 1L << 20;
    private long bucketBytes = 25L << 20;
    private boolean findUnusedParameters;
    private boolean staticGraph;
    private boolean gradientAsBucketView;
    private BufferMode bufferMode = BufferMode.AFTER_BACKWARD;
    private Set<String> ignored = Set.of();
    private GradientExchange exchange = GradientExchange.allReduce();

    private Options() {}

    /**
     * Returns PyTorch's options, except that buffers are copied {@linkplain
     * BufferMode#AFTER_BACKWARD after each backward pass}.
     *
     * @return the options
     */
    public static Options defaults() {
      return DEFAULTS;
    }

    /**
     * Returns these options with a different size of the buckets in which gradients are reduced; by
     * default 1 MiB for the first bucket and 25 MiB for the others. Before the second backward
     * pass, which reduces the gradients in the order in which those of the first one arrived, all
     * gradients of a dtype are one bucket, unless {@link #withFindUnusedParameters} is on.
     *
     * @param bytes the size in bytes at which a bucket is full, at least 1
     * @return the options
     * @throws IllegalArgumentException if the size is below 1
     */
    public Options withBucketBytes(long bytes) {
      return withBucketBytes(bytes, bytes);
    }

    /**
     * Returns these options with different sizes of the buckets in which gradients are reduced.
     *
     * @param first the size of the bucket that is reduced first, in bytes, at least 1
     * @param others the size of the others, in bytes, at least 1
     * @return the options
     * @throws IllegalArgumentException if a size is below 1
     */
    public Options withBucketBytes(long first, long others) {
      check("first", first);
      check("others", others);
      return with(
          options -> {
            options.firstBucketBytes = first;
            options.bucketBytes = others;
          });
    }

    /**
     * Returns these options with or without support for losses that depend on only part of the
     * parameters. A gradient is then the mean over the ranks, to which ranks that do not use the
     * parameter contribute 0; if no rank uses it, it remains undefined. Costs one more all-reduce
     * per backward pass, of 4 bytes per parameter.
     *
     * @param find whether parameters may be unused; by default every parameter must contribute to
     *     every loss
     * @return the options
     */
    public Options withFindUnusedParameters(boolean find) {
      return with(options -> options.findUnusedParameters = find);
    }

    /**
     * Returns these options with or without the promise that all backward passes use the same
     * parameters, each as often as the first one does. Parameters may then be unused at no cost,
     * since they are found in the first pass, which reduces everything at its end.
     *
     * @param isStatic whether the graph is static; by default it is not
     * @return the options
     */
    public Options withStaticGraph(boolean isStatic) {
      return with(options -> options.staticGraph = isStatic);
    }

    /**
     * Returns these options with or without gradients that are views of the buckets, which saves as
     * much memory as the gradients take. It also saves copies if the optimizer sets gradients to
     * zero rather than undefined. A gradient must then not be replaced by another tensor between
     * passes.
     *
     * @param views whether gradients are views; by default they are not
     * @return the options
     */
    public Options withGradientAsBucketView(boolean views) {
      return with(options -> options.gradientAsBucketView = views);
    }

    /**
     * Returns these options with a different moment at which buffers are copied.
     *
     * @param mode when the buffers of rank 0 are copied to the other ranks
     * @return the options
     */
    public Options withBufferMode(BufferMode mode) {
      Objects.requireNonNull(mode, "mode");
      return with(options -> options.bufferMode = mode);
    }

    /**
     * Returns these options with parameters and buffers that the wrapper leaves alone: they are
     * neither compared, copied nor reduced, and not part of {@link #digest}.
     *
     * @param names their names as in {@code named_parameters()} and {@code named_buffers()}; copied
     * @return the options
     */
    public Options withIgnored(Collection<String> names) {
      return with(options -> options.ignored = Set.copyOf(Checks.copyOf("names", names)));
    }

    /**
     * Returns these options with a different way of averaging gradients.
     *
     * @param exchange how gradients travel between the ranks
     * @return the options
     */
    public Options withExchange(GradientExchange exchange) {
      Objects.requireNonNull(exchange, "exchange");
      return with(options -> options.exchange = exchange);
    }

    private Options with(Consumer<Options> change) {
      Options changed = new Options();
      changed.firstBucketBytes = firstBucketBytes;
      changed.bucketBytes = bucketBytes;
      changed.findUnusedParameters = findUnusedParameters;
      changed.staticGraph = staticGraph;
      changed.gradientAsBucketView = gradientAsBucketView;
      changed.bufferMode = bufferMode;
      changed.ignored = ignored;
      changed.exchange = exchange;
      change.accept(changed);
      return changed;
    }

    private static void check(String name, long bytes) {
      if (bytes < 1) {
        throw new IllegalArgumentException(name + " must be at least 1, got " + bytes);
      }
    }

    private ReducerOptions toNative(Module module) {
      return new ReducerOptions()
          .first_bucket_bytes(firstBucketBytes)
          .bucket_bytes(bucketBytes)
          .find_unused_parameters(findUnusedParameters)
          .static_graph(staticGraph)
          .gradient_as_bucket_view(gradientAsBucketView)
          .buffer_mode(bufferMode.code)
          .exchange(exchange.toNative())
          .sparse_names(new BytePointer(ModuleTensors.lines(ModuleTensors.sparse(module))))
          .ignored_names(new BytePointer(ModuleTensors.lines(new TreeSet<>(ignored))));
    }
  }

  /**
   * A snapshot of what has been reduced so far, and how long it took.
   *
   * @param reductions backward passes that ended with averaged gradients
   * @param waited time from the last gradient of each of them to its end: what the reduction costs
   * @param communicating time from the start of the first bucket's reduction of each to the end of
   *     the last bucket's; PyTorch's {@code backward_comm_time}. Zero in a group of one rank
   * @param overlapped the part of {@code communicating} in which gradients were still being
   *     computed; PyTorch's {@code backward_compute_comm_overlap_time}
   * @param buckets the buckets, in the order of their reduction; empty in a group of one rank
   */
  public record Stats(
      long reductions,
      Duration waited,
      Duration communicating,
      Duration overlapped,
      List<Bucket> buckets) {
    /**
     * Returns the share of the communication that was hidden behind computation.
     *
     * @return in [0, 1]; 0 before the first reduction and in a group of one rank
     */
    public double overlapShare() {
      return communicating.isZero() ? 0 : (double) overlapped.toNanos() / communicating.toNanos();
    }

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "%d reductions of %d buckets, %d bytes; waited %.3f s, communicating %.3f s, %.0f %% of"
              + " it overlapped",
          reductions,
          buckets.size(),
          buckets.stream().mapToLong(Bucket::bytes).sum(),
          waited.toNanos() / 1e9,
          communicating.toNanos() / 1e9,
          100 * overlapShare());
    }
  }

  /**
   * A bucket of gradients that are reduced together.
   *
   * @param parameters the names of the parameters, in their order in the bucket
   * @param bytes bytes of the gradients in the latest reduction
   * @param sentBytes bytes that this rank sent in the latest reduction, as counted by the
   *     algorithm, without the headers of the network
   * @param reductions reductions since the bucket was formed
   * @param time the time of these reductions
   */
  public record Bucket(
      List<String> parameters, long bytes, long sentBytes, long reductions, Duration time) {}

  private static final String KIND = "DistributedDataParallel";
  private static final String EXCHANGE = "exchange.";

  /** A scope in which backward passes accumulate gradients on this rank; ends when closed. */
  public interface NoSync extends AutoCloseable {
    /** Ends the scope; no effect the second time. */
    @Override
    void close();
  }

  private final NativeHandle<GradientReducer> handle;
  private final ProcessGroup group;
  private final Module module;
  private final Set<String> ignored;

  private DistributedDataParallel(
      NativeHandle<GradientReducer> handle,
      ProcessGroup group,
      Module module,
      Set<String> ignored) {
    this.handle = handle;
    this.group = group;
    this.module = module;
    this.ignored = ignored;
  }

  /**
   * Wraps a module with the {@linkplain Options#defaults default} options.
   *
   * @param module the module to train, all of it on the CPU or on one device, of the same type on
   *     all ranks; borrowed
   * @param group the ranks; borrowed, and may be closed before the wrapper
   * @return the wrapper; the caller closes it
   * @throws IllegalArgumentException if no parameter requires a gradient, or the ranks' modules
   *     differ; the latter is thrown on every rank and names the first difference
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if the group is closed or aborted
   */
  public static DistributedDataParallel wrap(Module module, ProcessGroup group) {
    return wrap(module, group, Options.defaults());
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
   *     options differ; the latter is thrown on every rank and names the first difference. With
   *     Python ranks in the group, also if the buffer mode is neither {@link
   *     BufferMode#BEFORE_FORWARD} nor {@link BufferMode#OFF}; of the modules, what Python compares
   *     is compared, and of the options nothing
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if the group is closed or aborted
   */
  public static DistributedDataParallel wrap(Module module, ProcessGroup group, Options options) {
    Objects.requireNonNull(options, "options");
    try (PointerScope scope = new PointerScope()) {
      ModuleTensors.requireNames(module, options.ignored);
      ModuleTensors parameters = ModuleTensors.parameters(module, options.ignored);
      ModuleTensors buffers = ModuleTensors.buffers(module, options.ignored);
      ReducerOptions nativeOptions = options.toNative(module);
      NativeHandle<GradientReducer> handle =
          group
              .core()
              .make(
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
      DistributedDataParallel model =
          new DistributedDataParallel(handle, group, module, options.ignored);
      try {
        model.connectExchange(options.exchange.ranksPerNode());
        return model;
      } catch (RuntimeException | Error e) {
        model.close();
        throw e;
      }
    }
  }

  /** Connects the exchange of gradients, if it needs groups of its own. */
  private void connectExchange(int ranksPerNode) {
    if (!handle.call(GradientReducer::needs_exchange_group)) {
      return;
    }
    int[] all = IntStream.range(0, group.size()).toArray();
    try (ProcessGroup own = group.subgroup(all); // the reducer keeps the native groups
        Nodes nodes = Nodes.of(group, ranksPerNode)) {
      withNative(own, ranks -> connectExchange(ranks, nodes));
    }
  }

  private void connectExchange(NativeProcessGroup all, Nodes nodes) {
    ProcessGroup node = nodes.node();
    if (node == null) {
      handle.run(reducer -> reducer.exchange_over(all));
    } else {
      withNative(
          node,
          own ->
              withNative(
                  nodes.leaders(),
                  leaders ->
                      handle.run(reducer -> reducer.exchange_between_nodes(all, own, leaders))));
    }
  }

  private static void withNative(
      @Nullable ProcessGroup group, Consumer<@Nullable NativeProcessGroup> body) {
    if (group == null) {
      body.accept(null);
    } else {
      group.core().handle().run(body);
    }
  }

  ProcessGroup group() {
    return group;
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
   * Begins a scope in which the ranks may run different numbers of backward passes: those that have
   * run all of theirs {@linkplain Join#shadow shadow} the others. Every rank must call it. The sum
   * of the gradients is divided by the number of all ranks, so that each sample has the same weight
   * in every step, as in PyTorch.
   *
   * @param passes how many backward passes that average gradients this rank is going to run in the
   *     scope, at least 0; for example the number of its batches
   * @return the scope; the caller closes it
   * @throws IllegalArgumentException if the number is below 0; on every rank, if a rank calls
   *     another operation of the group
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if a scope is open, an earlier backward pass failed, the wrapper
   *     is closed, or the graph is static, its first backward pass has not been run yet, and some
   *     ranks have passes and others none
   */
  public Join join(long passes) {
    return join(passes, false);
  }

  /**
   * Like {@link #join(long)}, with a choice of the divisor.
   *
   * @param passes how many backward passes that average gradients this rank is going to run in the
   *     scope, at least 0
   * @param divideByActive whether the sum of the gradients is divided by the number of ranks that
   *     have a batch in the step, so that each step has the same weight; PyTorch's {@code
   *     divide_by_initial_world_size=False}. The same on all ranks
   * @return the scope; the caller closes it
   * @throws IllegalArgumentException if the number is below 0; on every rank, if the ranks' choices
   *     differ or a rank calls another operation of the group
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException as {@link #join(long)}
   */
  public Join join(long passes, boolean divideByActive) {
    if (passes < 0) {
      throw new IllegalArgumentException("passes must be at least 0, got " + passes);
    }
    return Join.begin(this, passes, divideByActive);
  }

  /**
   * Like {@link #join(long)}, for ranks that do not know how many batches they are going to have,
   * for example those of a stream. Each backward pass must be {@linkplain Join#announce announced},
   * which costs an all-reduce of 8 bytes per rank.
   *
   * @param divideByActive as in {@link #join(long, boolean)}
   * @return the scope; the caller closes it
   * @throws IllegalArgumentException on every rank, if the ranks' choices differ or a rank calls
   *     another operation of the group
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if a scope is open, an earlier backward pass failed, or the
   *     wrapper is closed
   */
  public Join joinUncounted(boolean divideByActive) {
    return Join.begin(this, Join.NOT_COUNTED, divideByActive);
  }

  /**
   * Prepares the forward pass of a training step; the place for what PyTorch does at the start of
   * its {@code forward}, since the forward pass here is that of the module itself. Needed with
   * {@link BufferMode#BEFORE_FORWARD} only. All ranks must call it, or none. No effect if the
   * module is in evaluation mode or gradients are disabled, so that one rank may evaluate alone.
   *
   * <p>In a group with {@linkplain ProcessGroup#joinPython Python ranks}, it is to be called before
   * each forward pass that those run through their wrapper, also to evaluate: the first one without
   * gradients after training copies the buffers.
   *
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if an earlier backward pass failed, or the wrapper is closed
   */
  public void beforeForward() {
    if (module.is_training() || group.core().hasPythonRanks()) {
      run("beforeForward", GradientReducer::before_forward);
    }
  }

  /**
   * Copies the buffers of rank 0 to all ranks, in any {@link BufferMode}. Every rank must call it.
   *
   * @throws UnsupportedOperationException if Python ranks are in the group
   * @throws IllegalArgumentException on every rank, if a rank calls another operation of the group
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if the wrapper is closed
   */
  public void broadcastBuffers() {
    group.core().requireJavaRanks("broadcastBuffers");
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
   * @throws IllegalArgumentException if the loss is not a single number that requires a gradient
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   * @throws IllegalStateException if a parameter received no gradient, or one that is unexpected or
   *     unexpectedly sparse or dense (the message names it), the loss depends on no parameter, an
   *     earlier backward pass failed, or the wrapper is closed
   */
  public void backward(Tensor loss) {
    Objects.requireNonNull(loss, "loss");
    run("backward", reducer -> reducer.backward(loss));
  }

  void run(String operation, Consumer<GradientReducer> body) {
    call(
        operation,
        reducer -> {
          body.accept(reducer);
          return true;
        });
  }

  <R> R call(String operation, Function<GradientReducer, R> body) {
    long start = System.nanoTime();
    try {
      return handle.call(body);
    } catch (NativeException e) {
      throw group.core().failure(operation, start, e);
    }
  }

  void leave() {
    if (!handle.isClosed()) {
      handle.run(GradientReducer::leave);
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
  public Stats stats() {
    return handle.call(DistributedDataParallel::stats);
  }

  private static Stats stats(GradientReducer reducer) {
    List<Bucket> buckets = new ArrayList<>();
    for (long i = 0; i < reducer.bucket_count(); i++) {
      try (BytePointer names = reducer.bucket_parameters(i)) {
        buckets.add(
            new Bucket(
                names.getString().lines().toList(),
                reducer.bucket_bytes(i),
                reducer.bucket_sent_bytes(i),
                reducer.bucket_reductions(i),
                Duration.ofNanos(reducer.bucket_nanos(i))));
      }
    }
    return new Stats(
        reducer.reductions(),
        Duration.ofNanos(reducer.reduction_nanos()),
        Duration.ofNanos(reducer.communication_nanos()),
        Duration.ofNanos(reducer.overlapped_nanos()),
        List.copyOf(buckets));
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
   * @throws IllegalStateException on every rank, if a rank's parameters differ from those of rank 0
   *     (the message names that rank); or if the wrapper or the group is closed
   * @throws UnsupportedOperationException if Python ranks are in the group
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   */
  public String verifyReplicas() {
    group.core().requireJavaRanks("verifyReplicas");
    byte[] mine = ReplicaDigest.of(handle);
    ReplicaDigest.requireEqual(mine, group);
    return HexFormat.of().formatHex(mine);
  }

  /**
   * Returns what this rank needs, beside the parameters and the optimizer, to continue as if the
   * training had not been stopped: the buckets that were formed after the first backward pass, on
   * which roundings depend; what that pass used of a static graph; what the exchange keeps of the
   * gradients and of random numbers; and the buffers of the module. Every rank must call it, and
   * store its own state: they differ.
   *
   * @return the state; the caller closes it
   * @throws IllegalStateException if gradients have been accumulated and not been averaged since, a
   *     {@link #join} scope is open, an earlier backward pass failed, or the wrapper is closed
   * @throws UnsupportedOperationException if Python ranks are in the group
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   */
  @Override
  public StateDict stateDict() {
    group.core().requireJavaRanks("stateDict");
    try (PointerScope scope = new PointerScope()) {
      ReducerState state = call("stateDict", GradientReducer::state);
      List<String> names = lines(state.names());
      Map<String, Tensor> tensors = ModuleTensors.bufferStates(module, ignored);
      for (int i = 0; i < names.size(); i++) {
        tensors.put(EXCHANGE + names.get(i), state.tensors().get(i));
      }
      String json =
          DistributedStateJson.write(
              KIND,
              layout(),
              out -> {
                DistributedStateJson.writeTexts(out, "buckets", lines(state.buckets()));
                DistributedStateJson.writeTexts(out, "uses", lines(state.uses()));
                out.writeNumberField("exchangeSteps", state.exchange_steps());
                DistributedStateJson.writeTexts(
                    out, "exchangeRandom", lines(state.exchange_random()));
              });
      return StateDict.of(json, tensors);
    }
  }

  /** Returns the lines of a native string, which is null if it is empty. */
  private static List<String> lines(@Nullable BytePointer text) {
    return text == null ? List.of() : text.getString().lines().toList();
  }

  /** Returns what must be the same when a state is restored. */
  private List<String> layout() {
    try (BytePointer lines = handle.call(GradientReducer::layout)) {
      return DistributedStateJson.withRank(group.part(), lines.getString().lines().toList());
    }
  }

  /**
   * Continues from a state of the same rank, before the first backward pass. Every rank must do it.
   * The parameters must be loaded before wrapping, which copies those of rank 0; the number of
   * ranks, the model and the options must be those of the state.
   *
   * @param state borrowed
   * @throws IllegalArgumentException if the state is of another rank, number of ranks, model or
   *     options, or malformed; the message names the first difference
   * @throws IllegalStateException if a backward pass has been run, or the wrapper is closed
   */
  @Override
  public void loadStateDict(StateDict state) {
    JsonObject json =
        DistributedStateJson.read(
            state, KIND, layout(), "buckets", "uses", "exchangeSteps", "exchangeRandom");
    try (PointerScope scope = new PointerScope()) {
      Map<String, Tensor> exchanged = new LinkedHashMap<>();
      Map<String, Tensor> buffers = new LinkedHashMap<>();
      state
          .tensors()
          .forEach(
              (name, tensor) ->
                  (name.startsWith(EXCHANGE) ? exchanged : buffers).put(name, tensor));
      List<String> names =
          exchanged.keySet().stream().map(name -> name.substring(EXCHANGE.length())).toList();
      StateDict kept = StateDict.of("", buffers);
      try (kept) {
        Map<String, Tensor> targets = ModuleTensors.bufferStates(module, ignored);
        kept.requireFit(targets);
        handle.run(
            reducer ->
                reducer.restore(
                    new ReducerState()
                        .buckets(new BytePointer(ModuleTensors.lines(json.texts("buckets"))))
                        .uses(new BytePointer(String.join("", json.texts("uses"))))
                        .exchange_steps(json.number("exchangeSteps"))
                        .exchange_random(
                            new BytePointer(String.join("", json.texts("exchangeRandom"))))
                        .names(new BytePointer(ModuleTensors.lines(names)))
                        .tensors(new TensorVector(exchanged.values().toArray(Tensor[]::new)))));
        kept.copyTo(targets);
      }
    }
  }

  @Override
  public void close() {
    handle.close();
  }
}
