// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import io.torchfeed.bindings.ReducerOptions;
import io.torchfeed.internal.Checks;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Module;

/**
 * The options of a {@link DistributedDataParallel}, the same on all ranks. Immutable: each {@code
 * with} method returns new options.
 */
public final class DataParallelOptions {
  /** The moments at which buffers, for example running statistics, are copied from rank 0. */
  public enum BufferMode {
    /** Never, not even when the module is wrapped; PyTorch's {@code broadcast_buffers=False}. */
    OFF(ReducerOptions.kOff),

    /**
     * Once when the module is wrapped, and at each call of {@link
     * DistributedDataParallel#broadcastBuffers}.
     */
    ON_REQUEST(ReducerOptions.kOnRequest),

    /**
     * When the module is wrapped, and at each call of {@link DistributedDataParallel#beforeForward}
     * unless the previous one was inside {@link DistributedDataParallel#noSync}; PyTorch's default.
     * The copy writes tensors that an earlier forward pass needs again for its backward pass, which
     * then fails as in PyTorch: if a step has several forward passes before one backward pass, for
     * example of a GAN's discriminator, call it once, before the first of them.
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

  private static final DataParallelOptions DEFAULTS = new DataParallelOptions();

  private long firstBucketBytes = 1L << 20;
  private long bucketBytes = 25L << 20;
  private List<Long> bucketBytesList = List.of();
  private boolean findUnusedParameters;
  private boolean staticGraph;
  private boolean gradientAsBucketView;
  private boolean weightedLosses;
  private BufferMode bufferMode = BufferMode.AFTER_BACKWARD;
  private Set<String> ignored = Set.of();
  private GradientExchange exchange = GradientExchange.allReduce();

  private DataParallelOptions() {}

  /**
   * Returns PyTorch's options, except that buffers are copied {@linkplain BufferMode#AFTER_BACKWARD
   * after each backward pass}.
   *
   * @return the options
   */
  public static DataParallelOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Returns these options with a different size of the buckets in which gradients are reduced; by
   * default 1 MiB for the first bucket and 25 MiB for the others. Before the second backward pass,
   * which reduces the gradients in the order in which they arrived in the first one, all gradients
   * of a dtype are one bucket, unless {@link #withFindUnusedParameters} is on.
   *
   * @param bytes the size in bytes at which a bucket is full, at least 1
   * @return the options
   * @throws IllegalArgumentException if the size is below 1
   */
  public DataParallelOptions withBucketBytes(long bytes) {
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
  public DataParallelOptions withBucketBytes(long first, long others) {
    check("first", first);
    check("others", others);
    return with(
        options -> {
          options.firstBucketBytes = first;
          options.bucketBytes = others;
          options.bucketBytesList = List.of();
        });
  }

  /**
   * Returns these options with a size for each bucket in which gradients are reduced; PyTorch's
   * {@code bucket_cap_mb_list}, which 2.13 introduced. The sizes count from the bucket that is
   * reduced first, once buckets are formed in the order of the gradients of the first backward
   * pass. Before that, they count from the first parameter of the module.
   *
   * @param bytes the size in bytes at which each bucket is full, at least 1; further buckets have
   *     the last size; copied
   * @return the options
   * @throws IllegalArgumentException if there is no size, or one is below 1
   */
  public DataParallelOptions withBucketBytesList(List<Long> bytes) {
    List<Long> copy = Checks.copyOf("bytes", bytes);
    if (copy.isEmpty()) {
      throw new IllegalArgumentException("bytes must hold at least one size, got none");
    }
    copy.forEach(size -> check("bytes", size));
    return with(options -> options.bucketBytesList = copy);
  }

  /**
   * Returns these options with or without support for losses that depend on only part of the
   * parameters. A gradient is then the mean over the ranks, where a rank that does not use the
   * parameter counts as 0; if no rank uses it, it remains undefined. Costs one more all-reduce per
   * backward pass, of 4 bytes per parameter.
   *
   * @param find whether parameters may be unused; by default every parameter must contribute to
   *     every loss
   * @return the options
   */
  public DataParallelOptions withFindUnusedParameters(boolean find) {
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
  public DataParallelOptions withStaticGraph(boolean isStatic) {
    return with(options -> options.staticGraph = isStatic);
  }

  /**
   * Returns these options with or without gradients that are views of the buckets, which saves as
   * much memory as the gradients take. It also saves copies if the optimizer sets gradients to zero
   * rather than undefined. A gradient must then not be replaced by another tensor between passes.
   *
   * @param views whether gradients are views; by default they are not
   * @return the options
   */
  public DataParallelOptions withGradientAsBucketView(boolean views) {
    return with(options -> options.gradientAsBucketView = views);
  }

  /**
   * Returns these options with or without weights of losses. With them, each backward pass needs
   * one, {@link DistributedDataParallel#backward(org.bytedeco.pytorch.Tensor, double)}, and
   * gradients are means weighted by them, not means over the ranks. The weights are sent as 11
   * numbers for each rank behind the gradients of a bucket.
   *
   * <pre>{@code
   * var options = DataParallelOptions.defaults().withWeightedLosses(true);
   * try (var model = DistributedDataParallel.wrap(net, group, options)) {
   *   for (Batch batch : batches) {
   *     optimizer.zero_grad();
   *     model.backward(meanLoss(batch), tokens(batch));
   *     optimizer.step();
   *   }
   * }
   * }</pre>
   *
   * <p>They need {@link GradientExchange#allReduce}, {@link GradientExchange#float16} or {@link
   * GradientExchange#bfloat16}: the other exchanges approximate the mean over the ranks, and
   * wrapping refuses them. With {@code float16}, gradients times their weights are sent: choose
   * weights near 1, for example in thousands of tokens. A group with Python ranks has no weights.
   *
   * @param weighted whether losses have weights; by default they do not
   * @return the options
   */
  public DataParallelOptions withWeightedLosses(boolean weighted) {
    return with(options -> options.weightedLosses = weighted);
  }

  /**
   * Returns these options with a different moment at which buffers are copied.
   *
   * @param mode when the buffers of rank 0 are copied to the other ranks
   * @return the options
   */
  public DataParallelOptions withBufferMode(BufferMode mode) {
    Objects.requireNonNull(mode, "mode");
    return with(options -> options.bufferMode = mode);
  }

  /**
   * Returns these options with parameters and buffers that the wrapper leaves alone: they are
   * neither compared, copied nor reduced, and not part of {@link DistributedDataParallel#digest}.
   *
   * @param names their names as in {@code named_parameters()} and {@code named_buffers()}; copied
   * @return the options
   */
  public DataParallelOptions withIgnored(Collection<String> names) {
    Set<String> copy = Set.copyOf(Checks.copyOf("names", names));
    return with(options -> options.ignored = copy);
  }

  /**
   * Returns these options with a different way of averaging gradients.
   *
   * @param exchange how gradients travel between the ranks
   * @return the options
   */
  public DataParallelOptions withExchange(GradientExchange exchange) {
    Objects.requireNonNull(exchange, "exchange");
    return with(options -> options.exchange = exchange);
  }

  private DataParallelOptions with(Consumer<DataParallelOptions> change) {
    DataParallelOptions changed = new DataParallelOptions();
    changed.firstBucketBytes = firstBucketBytes;
    changed.bucketBytes = bucketBytes;
    changed.bucketBytesList = bucketBytesList;
    changed.findUnusedParameters = findUnusedParameters;
    changed.staticGraph = staticGraph;
    changed.gradientAsBucketView = gradientAsBucketView;
    changed.weightedLosses = weightedLosses;
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

  Set<String> ignored() {
    return ignored;
  }

  GradientExchange exchange() {
    return exchange;
  }

  ReducerOptions toNative(Module module) {
    return new ReducerOptions()
        .first_bucket_bytes(firstBucketBytes)
        .bucket_bytes(bucketBytes)
        .bucket_bytes_list(new BytePointer(ModuleTensors.lines(bucketBytesList)))
        .find_unused_parameters(findUnusedParameters)
        .static_graph(staticGraph)
        .gradient_as_bucket_view(gradientAsBucketView)
        .weighted_losses(weightedLosses)
        .buffer_mode(bufferMode.code)
        .exchange(NativeExchange.of(exchange))
        .sparse_names(new BytePointer(ModuleTensors.lines(ModuleTensors.sparse(module))))
        .ignored_names(new BytePointer(ModuleTensors.lines(new TreeSet<>(ignored))));
  }
}
