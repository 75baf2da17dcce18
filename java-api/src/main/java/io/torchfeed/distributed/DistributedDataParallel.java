// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.GradientReducer;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Objects;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItem;
import org.bytedeco.pytorch.StringTensorDictItemVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * A module whose gradients are averaged over the ranks in every backward pass.
 *
 * <p>Wrapping checks that the parameters and buffers have the same layout on all ranks, then copies
 * the values of rank 0 to the others. From then on each gradient is the mean over the ranks by the
 * time a backward pass returns, whether it was started by {@link #backward} or by {@code
 * loss.backward()}; buckets of gradients are reduced while the remaining gradients are still being
 * computed. Every backward pass leaves the buffers (running statistics) of rank 0 on all ranks.
 * Every parameter that requires a gradient must contribute to every loss.
 *
 * <p>A backward pass that fails after its first gradient leaves the wrapper unusable: every later
 * one fails and says why. {@link #close} ends the reduction and leaves the module as it is; it has
 * no effect the second time, and must not be called while another thread runs {@code
 * loss.backward()}. Not thread-safe: one thread at a time.
 *
 * <p>Source: libtorch 2.10.0, {@code c10d::Reducer}.
 */
public final class DistributedDataParallel implements AutoCloseable {
  private static final int CHUNK_BYTES = 1 << 28;

  /**
   * The sizes of the buckets in which gradients are reduced.
   *
   * @param firstBucketBytes size of the bucket that is reduced first, at least 1
   * @param bucketBytes size of the others, at least 1
   */
  public record Options(long firstBucketBytes, long bucketBytes) {
    /**
     * Checks the sizes.
     *
     * @param firstBucketBytes size of the bucket that is reduced first, at least 1
     * @param bucketBytes size of the others, at least 1
     */
    public Options {
      check("firstBucketBytes", firstBucketBytes);
      check("bucketBytes", bucketBytes);
    }

    /**
     * Returns PyTorch's sizes: 1 MiB for the first bucket, 25 MiB for the others.
     *
     * @return the sizes
     */
    public static Options defaults() {
      return new Options(1L << 20, 25L << 20);
    }

    private static void check(String name, long bytes) {
      if (bytes < 1) {
        throw new IllegalArgumentException(name + " must be at least 1, got " + bytes);
      }
    }
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
   * Wraps a module with the {@linkplain Options#defaults default} bucket sizes.
   *
   * @param module the module to train, on the CPU; borrowed
   * @param group the ranks; borrowed, and may be closed before the wrapper
   * @return the wrapper; the caller closes it
   * @throws IllegalArgumentException if no parameter requires a gradient, or the ranks' modules
   *     differ; the latter is thrown on every rank and names the first difference
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   */
  public static DistributedDataParallel wrap(Module module, ProcessGroup group) {
    return wrap(module, group, Options.defaults());
  }

  /**
   * Wraps a module.
   *
   * @param module the module to train, on the CPU; borrowed
   * @param group the ranks; borrowed, and may be closed before the wrapper
   * @param options the sizes of the buckets, the same on all ranks
   * @return the wrapper; the caller closes it
   * @throws IllegalArgumentException if no parameter requires a gradient, or the ranks' modules
   *     differ; the latter is thrown on every rank and names the first difference
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   */
  public static DistributedDataParallel wrap(Module module, ProcessGroup group, Options options) {
    Objects.requireNonNull(options, "options");
    try (PointerScope scope = new PointerScope()) {
      Named parameters = Named.of(module.named_parameters());
      Named buffers = Named.of(module.named_buffers());
      NativeHandle<GradientReducer> handle =
          group.make(
              "wrap",
              nativeGroup ->
                  NativeHandle.create(
                      "DistributedDataParallel",
                      () ->
                          GradientReducer.create(
                              nativeGroup,
                              parameters.names(),
                              parameters.tensors(),
                              buffers.names(),
                              buffers.tensors(),
                              options.firstBucketBytes(),
                              options.bucketBytes())));
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
   * Runs the backward pass of the loss and returns when every gradient is the mean over the ranks.
   *
   * <p>Equivalent to {@code loss.backward()}, but with typed exceptions.
   *
   * @param loss a single number to which all trained parameters contribute
   * @throws IllegalArgumentException if the loss is not a single number with a gradient
   * @throws PeerLostException if a rank is lost or does not respond within the timeout
   * @throws IllegalStateException if a parameter received no gradient (the message names it), an
   *     earlier backward pass failed, or the wrapper is closed
   */
  public void backward(Tensor loss) {
    Objects.requireNonNull(loss, "loss");
    long start = System.nanoTime();
    try {
      handle.run(reducer -> reducer.backward(loss));
    } catch (NativeException e) {
      throw group.failure("backward", start, e);
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
   * Returns a digest of this rank's parameters.
   *
   * @return the SHA-256 of the names, sizes and bytes of all parameters, in hexadecimal
   * @throws IllegalStateException if the wrapper is closed
   */
  public String digest() {
    return HexFormat.of().formatHex(hash());
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
    byte[] mine = hash();
    try (PointerScope scope = new PointerScope()) {
      Tensor[] all = group.allGather(Tensor.create(mine));
      byte[] first = bytes(all[0], mine.length);
      for (int rank = 1; rank < all.length; rank++) {
        byte[] other = bytes(all[rank], mine.length);
        if (!Arrays.equals(first, other)) {
          throw new IllegalStateException(
              "the parameters of rank "
                  + rank
                  + " differ from those of rank 0: digest "
                  + HexFormat.of().formatHex(other)
                  + ", rank 0 has "
                  + HexFormat.of().formatHex(first));
        }
      }
    }
    return HexFormat.of().formatHex(mine);
  }

  @Override
  public void close() {
    handle.close();
  }

  private byte[] hash() {
    MessageDigest digest = sha256();
    long count = handle.call(GradientReducer::parameter_count);
    for (long i = 0; i < count; i++) {
      long index = i;
      try (PointerScope scope = new PointerScope()) {
        String name = handle.call(reducer -> reducer.parameter_name(index)).getString();
        Tensor bytes = handle.call(reducer -> reducer.parameter_bytes(index));
        digest.update((name + '\n' + bytes.numel() + '\n').getBytes(StandardCharsets.UTF_8));
        update(digest, bytes);
      }
    }
    return digest.digest();
  }

  private static void update(MessageDigest digest, Tensor bytes) {
    long size = bytes.numel();
    BytePointer data = new BytePointer(bytes.data_ptr());
    for (long from = 0; from < size; from += CHUNK_BYTES) {
      long to = Math.min(size, from + CHUNK_BYTES);
      ByteBuffer chunk = data.position(from).limit(to).asByteBuffer();
      digest.update(chunk);
    }
  }

  private static byte[] bytes(Tensor tensor, int length) {
    byte[] bytes = new byte[length];
    new BytePointer(tensor.data_ptr()).get(bytes);
    return bytes;
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform must support SHA-256", e);
    }
  }

  /** Tensors of a module and their names, one per line. */
  private record Named(String names, TensorVector tensors) {
    static Named of(StringTensorDict dict) {
      StringTensorDictItemVector items = dict.items();
      StringBuilder names = new StringBuilder();
      Tensor[] tensors = new Tensor[Math.toIntExact(items.size())];
      for (int i = 0; i < tensors.length; i++) {
        StringTensorDictItem item = items.get(i);
        names.append(item.key().getString()).append('\n');
        tensors[i] = item.value();
      }
      return new Named(names.toString(), new TensorVector(tensors));
    }
  }
}
