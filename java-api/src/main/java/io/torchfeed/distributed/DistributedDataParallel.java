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
 * A module whose gradients are averaged over the ranks in every backward.
 *
 * <p>Wrapping checks that all ranks have the same parameters and buffers and copies those of rank 0
 * to all. From then on each gradient is the mean over the ranks when a backward returns, whether
 * started by {@link #backward} or by {@code loss.backward()}; buckets of gradients are reduced
 * while the rest is still computed. Every backward ends with the buffers (running statistics) of
 * rank 0 on all ranks. Every parameter that requires a gradient must take part in every loss.
 *
 * <p>A backward that fails after its first gradient leaves the wrapper unusable: each later one
 * says so. {@link #close} ends the reduction and leaves the module as it is; it is silent the
 * second time, and must not come during a {@code loss.backward()} of another thread. One thread at
 * a time.
 *
 * <p>Source: libtorch 2.10.0, {@code c10d::Reducer}.
 */
public final class DistributedDataParallel implements AutoCloseable {
  private static final int CHUNK_BYTES = 1 << 28;

  /**
   * The sizes of the buckets in which gradients travel.
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
     * PyTorch's sizes: 1 MiB for the first bucket, 25 MiB for the others.
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
   * @param module the module to train, on cpu; borrowed
   * @param group the ranks; borrowed, and may be closed before the wrapper
   * @return the wrapper; the caller closes it
   * @throws IllegalArgumentException if no parameter requires a gradient, or the ranks' modules
   *     differ: then on every rank, with the name of the first difference
   * @throws PeerLostException if a rank is gone or does not come within the timeout
   */
  public static DistributedDataParallel wrap(Module module, ProcessGroup group) {
    return wrap(module, group, Options.defaults());
  }

  /**
   * Wraps a module.
   *
   * @param module the module to train, on cpu; borrowed
   * @param group the ranks; borrowed, and may be closed before the wrapper
   * @param options the sizes of the buckets, the same on all ranks
   * @return the wrapper; the caller closes it
   * @throws IllegalArgumentException if no parameter requires a gradient, or the ranks' modules
   *     differ: then on every rank, with the name of the first difference
   * @throws PeerLostException if a rank is gone or does not come within the timeout
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
   * The module that was wrapped.
   *
   * @return the module itself
   */
  public Module module() {
    return module;
  }

  /**
   * Runs the backward of the loss and returns when every gradient is the mean over the ranks.
   *
   * <p>The same as {@code loss.backward()}, with typed exceptions.
   *
   * @param loss one number that all trained parameters take part in
   * @throws IllegalArgumentException if the loss is not one number with a gradient
   * @throws PeerLostException if a rank is gone or does not come within the timeout
   * @throws IllegalStateException if a parameter got no gradient (it is named), an earlier backward
   *     failed, or the wrapper is closed
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
   * How long all backwards have waited for reductions that their own computing did not hide.
   *
   * @return nanoseconds from the last gradient's arrival to the end of the reduction, summed
   * @throws IllegalStateException if the wrapper is closed
   */
  public long reductionNanos() {
    return handle.call(GradientReducer::reduction_nanos);
  }

  /**
   * How many backwards have ended with averaged gradients.
   *
   * @return at least 0
   * @throws IllegalStateException if the wrapper is closed
   */
  public long reductions() {
    return handle.call(GradientReducer::reductions);
  }

  /**
   * A digest of this rank's parameters.
   *
   * @return SHA-256 over names, sizes and bytes of all parameters, in hexadecimal
   * @throws IllegalStateException if the wrapper is closed
   */
  public String digest() {
    return HexFormat.of().formatHex(hash());
  }

  /**
   * Makes sure that all ranks' parameters are the same, bit for bit. Every rank calls it.
   *
   * @return the {@link #digest} that all ranks have
   * @throws IllegalStateException if a rank's parameters differ from those of rank 0; names the
   *     rank, and is thrown on every rank
   * @throws PeerLostException if a rank is gone or does not come within the timeout
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
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  /** Tensors of a module and their names, one a line. */
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
