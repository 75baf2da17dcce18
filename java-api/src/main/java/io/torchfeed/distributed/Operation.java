// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static io.torchfeed.bindings.NativeHandle.outsideOfScopes;
import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.bindings.NativeWork;
import io.torchfeed.internal.Checks;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * An operation of a group with its arguments, to be performed or started.
 *
 * @param name the name in messages
 * @param peer the rank that is lost if the operation fails; empty if it may be any
 * @param bytes returns the size of this rank's tensors, for traces
 * @param body the native call; returns null if it is done and returned no tensors
 * @param result returns the result of the operation
 */
record Operation<T>(
    String name, OptionalInt peer, LongSupplier bytes, Body body, Result<T> result) {
  @FunctionalInterface
  interface Body {
    @Nullable NativeWork start(NativeProcessGroup group, int mode);
  }

  @FunctionalInterface
  interface Result<T> {
    T of(@Nullable NativeWork work);
  }

  Operation(String name, LongSupplier bytes, Body body, Result<T> result) {
    this(name, OptionalInt.empty(), bytes, body, result);
  }

  /** An operation that returns nothing. */
  static Operation<Void> inPlace(String name, LongSupplier bytes, Body body) {
    return new Operation<>(name, bytes, body, Operation::nothing);
  }

  Operation<T> named(String other) {
    return new Operation<>(other, peer, bytes, body, result);
  }

  /**
   * Returns the same operation with the only rank whose loss can make it fail.
   *
   * @param rank the other rank
   */
  Operation<T> failingWith(int rank) {
    return new Operation<>(name, OptionalInt.of(rank), bytes, body, result);
  }

  <R> Operation<R> returning(Function<T, R> conversion) {
    return new Operation<>(name, peer, bytes, body, work -> conversion.apply(result.of(work)));
  }

  static LongSupplier sizeOf(Tensor... tensors) {
    return () -> Stream.of(tensors).mapToLong(Operation::bytesIn).sum();
  }

  /** Returns the size of a tensor, or 0 if it is going to be refused. */
  private static long bytesIn(@Nullable Tensor tensor) {
    return tensor == null || tensor.isNull() || !tensor.defined()
        ? 0
        : tensor.numel() * tensor.element_size();
  }

  /** Calls a function with a list of the tensors, which it does not keep. */
  static @Nullable NativeWork listed(
      Tensor[] tensors, Function<TensorVector, @Nullable NativeWork> function) {
    Checks.requireNoNull("tensors", tensors);
    try (TensorVector list = new TensorVector(tensors)) {
      return function.apply(list);
    }
  }

  @SuppressWarnings("NullAway") // the only value of Void
  private static Void nothing(@Nullable NativeWork work) {
    return null;
  }

  /** Returns the tensors of the ranks from a stack of them. */
  static Tensor[] rows(@Nullable NativeWork work, int index) {
    try (Tensor stacked = requireNonNull(work).result(index)) {
      Tensor[] tensors = new Tensor[Math.toIntExact(stacked.size(0))];
      for (int i = 0; i < tensors.length; i++) {
        tensors[i] = stacked.select(0, i);
      }
      return tensors;
    }
  }

  static Tensor tensorOf(byte[] bytes) {
    return outsideOfScopes(
        () -> {
          Tensor tensor =
              torch.empty(
                  new long[] {bytes.length},
                  new TensorOptions(torch.ScalarType.Byte),
                  new MemoryFormatOptional());
          if (bytes.length > 0) {
            new BytePointer(tensor.data_ptr()).put(bytes);
          }
          return tensor;
        });
  }

  static byte[] bytesOf(@Nullable NativeWork work, int index) {
    try (PointerScope scope = new PointerScope()) {
      Tensor tensor = requireNonNull(work).result(index);
      byte[] bytes = new byte[Math.toIntExact(tensor.numel())];
      if (bytes.length > 0) {
        new BytePointer(tensor.data_ptr()).get(bytes);
      }
      return bytes;
    }
  }

  /** Returns the numbers of each rank from a stack of them. */
  static long[][] longsOf(@Nullable NativeWork work, int length) {
    try (PointerScope scope = new PointerScope()) {
      Tensor stacked = requireNonNull(work).result(0);
      long[][] all = new long[Math.toIntExact(stacked.size(0))][length];
      LongPointer numbers = new LongPointer(stacked.data_ptr());
      for (int i = 0; i < all.length; i++) {
        numbers.position((long) i * length).get(all[i]);
      }
      return all;
    }
  }
}
