// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static io.torchfeed.bindings.NativeHandle.outsideOfScopes;
import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.bindings.NativeWork;
import java.nio.charset.StandardCharsets;
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
 * A collective operation with its arguments, to be performed or started.
 *
 * @param name the name in messages
 * @param peer the rank that is lost if the operation fails; empty if it may be any
 * @param bytes returns the size of this rank's tensors, for traces
 * @param body the native call; returns null if it is done and returned no tensors
 * @param result returns the result of the operation
 */
record Operation<T>(
    String name, OptionalInt peer, LongSupplier bytes, Body body, Result<T> result) {
  /** Tags of users are less than this. */
  static final int MAX_TAGS = 1 << 27;

  @FunctionalInterface
  interface Body {
    @Nullable NativeWork start(NativeProcessGroup group, int mode);
  }

  @FunctionalInterface
  interface Result<T> {
    T of(@Nullable NativeWork work);
  }

  private Operation(String name, LongSupplier bytes, Body body, Result<T> result) {
    this(name, OptionalInt.empty(), bytes, body, result);
  }

  /** An operation that returns nothing. */
  private static Operation<Void> inPlace(String name, LongSupplier bytes, Body body) {
    return new Operation<>(name, bytes, body, Operation::nothing);
  }

  private static LongSupplier sizeOf(Tensor... tensors) {
    return () -> Stream.of(tensors).mapToLong(Operation::bytesIn).sum();
  }

  /** Returns the size of a tensor, or 0 if it is going to be refused. */
  private static long bytesIn(@Nullable Tensor tensor) {
    return tensor == null || tensor.isNull() || !tensor.defined()
        ? 0
        : tensor.numel() * tensor.element_size();
  }

  @SuppressWarnings("NullAway") // the only value of Void
  private static Void nothing(@Nullable NativeWork work) {
    return null;
  }

  static Operation<Void> barrier() {
    return inPlace("barrier", () -> 0, (group, mode) -> group.barrier(mode));
  }

  static Operation<Void> allReduce(Tensor tensor, ReduceOp op) {
    requireNonNull(tensor, "tensor");
    int code = op.code();
    return inPlace(
        "all-reduce", sizeOf(tensor), (group, mode) -> group.all_reduce(tensor, code, mode));
  }

  static Operation<Void> allReduceCoalesced(Tensor[] tensors, ReduceOp op) {
    Tensor[] all = tensors.clone();
    int code = op.code();
    return inPlace(
        "all-reduce",
        sizeOf(all),
        (group, mode) -> {
          try (TensorVector list = new TensorVector(all)) {
            return group.all_reduce_coalesced(list, code, mode);
          }
        });
  }

  static Operation<Void> reduce(Tensor tensor, ReduceOp op, int root) {
    requireNonNull(tensor, "tensor");
    int code = op.code();
    return inPlace(
        "reduce", sizeOf(tensor), (group, mode) -> group.reduce(tensor, code, root, mode));
  }

  static Operation<Void> reduceScatterTensor(Tensor output, Tensor input, ReduceOp op) {
    requireNonNull(output, "output");
    requireNonNull(input, "input");
    int code = op.code();
    return inPlace(
        "reduce-scatter",
        sizeOf(input),
        (group, mode) -> group.reduce_scatter(output, input, code, mode));
  }

  static Operation<Void> reduceScatterCoalesced(Tensor[] outputs, Tensor[] inputs, ReduceOp op) {
    Tensor[] written = outputs.clone();
    Tensor[] read = inputs.clone();
    int code = op.code();
    return inPlace(
        "reduce-scatter",
        sizeOf(read),
        (group, mode) -> {
          try (TensorVector to = new TensorVector(written);
              TensorVector from = new TensorVector(read)) {
            return group.reduce_scatter_coalesced(to, from, code, mode);
          }
        });
  }

  static Operation<Void> broadcast(Tensor tensor, int root) {
    requireNonNull(tensor, "tensor");
    return inPlace(
        "broadcast", sizeOf(tensor), (group, mode) -> group.broadcast(tensor, root, mode));
  }

  static Operation<Void> scatter(Tensor output, Tensor[] inputs, int root) {
    requireNonNull(output, "output");
    Tensor[] read = inputs.clone();
    return inPlace(
        "scatter",
        sizeOf(output),
        (group, mode) -> {
          try (TensorVector from = new TensorVector(read)) {
            return group.scatter(output, from, root, mode);
          }
        });
  }

  static Operation<Tensor[]> allGather(Tensor tensor) {
    requireNonNull(tensor, "tensor");
    return new Operation<>(
        "all-gather",
        sizeOf(tensor),
        (group, mode) -> group.all_gather(tensor, mode),
        work -> rows(work, 0));
  }

  static Operation<Tensor[][]> allGatherCoalesced(Tensor[] tensors) {
    Tensor[] all = tensors.clone();
    return new Operation<>(
        "all-gather",
        sizeOf(all),
        (group, mode) -> {
          try (TensorVector list = new TensorVector(all)) {
            return group.all_gather_coalesced(list, mode);
          }
        },
        work -> {
          Tensor[][] results = new Tensor[all.length][];
          for (int i = 0; i < all.length; i++) {
            results[i] = rows(work, i);
          }
          return results;
        });
  }

  static Operation<Void> allGatherIntoTensor(Tensor output, Tensor input) {
    requireNonNull(output, "output");
    requireNonNull(input, "input");
    return inPlace(
        "all-gather", sizeOf(input), (group, mode) -> group.all_gather_into(output, input, mode));
  }

  static Operation<Tensor[]> gather(Tensor tensor, int root) {
    requireNonNull(tensor, "tensor");
    return new Operation<>(
        "gather",
        sizeOf(tensor),
        (group, mode) -> group.gather(tensor, root, mode),
        work -> work == null || work.results() == 0 ? new Tensor[0] : rows(work, 0));
  }

  static Operation<Void> allToAll(Tensor[] outputs, Tensor[] inputs) {
    Tensor[] written = outputs.clone();
    Tensor[] read = inputs.clone();
    return inPlace(
        AllToAllExchange.OPERATION,
        sizeOf(read),
        (group, mode) -> {
          try (TensorVector to = new TensorVector(written);
              TensorVector from = new TensorVector(read)) {
            return group.all_to_all(to, from, mode);
          }
        });
  }

  /** Takes the splits, as many as ranks, or null if all are equal. */
  static Operation<Void> allToAllSingle(
      Tensor output, Tensor input, long @Nullable [] outputSplits, long @Nullable [] inputSplits) {
    requireNonNull(output, "output");
    requireNonNull(input, "input");
    return inPlace(
        AllToAllExchange.OPERATION,
        sizeOf(input),
        (group, mode) -> group.all_to_all_single(output, input, outputSplits, inputSplits, mode));
  }

  static Operation<Void> send(Tensor tensor, int to, int tag) {
    return transmit(requireNonNull(tensor, "tensor"), to, checked(tag));
  }

  static Operation<Void> recv(Tensor tensor, int from, int tag) {
    return receive(requireNonNull(tensor, "tensor"), from, checked(tag));
  }

  /** Like {@link #send}, but allows reserved tags. */
  static Operation<Void> transmit(Tensor tensor, int to, int tag) {
    return new Operation<>(
        "send",
        OptionalInt.of(to),
        sizeOf(tensor),
        (group, mode) -> group.send(tensor, to, tag, mode),
        Operation::nothing);
  }

  /** Like {@link #recv}, but allows reserved tags. */
  static Operation<Void> receive(Tensor tensor, int from, int tag) {
    return new Operation<>(
        "recv",
        OptionalInt.of(from),
        sizeOf(tensor),
        (group, mode) -> group.receive(tensor, from, tag, mode),
        Operation::nothing);
  }

  static Operation<byte[][]> allGatherBytes(byte[] mine) {
    byte[] sent = mine.clone();
    return new Operation<>(
        "all-gather",
        () -> sent.length,
        (group, mode) -> {
          try (Tensor bytes = tensorOf(sent)) {
            return group.all_gather_bytes(bytes, mode);
          }
        },
        work -> {
          byte[][] all = new byte[Math.toIntExact(requireNonNull(work).results())][];
          for (int i = 0; i < all.length; i++) {
            all[i] = bytesOf(work, i);
          }
          return all;
        });
  }

  static Operation<byte[]> broadcastBytes(byte[] mine, int root) {
    byte[] sent = mine.clone();
    return new Operation<>(
        "broadcast",
        () -> sent.length,
        (group, mode) -> {
          try (Tensor bytes = tensorOf(sent)) {
            return group.broadcast_bytes(bytes, root, mode);
          }
        },
        work -> bytesOf(work, 0));
  }

  static Operation<String[]> allGatherStrings(String mine) {
    return allGatherBytes(mine.getBytes(StandardCharsets.UTF_8))
        .returning(all -> Stream.of(all).map(Operation::stringOf).toArray(String[]::new));
  }

  static Operation<String> broadcastString(String mine, int root) {
    return broadcastBytes(mine.getBytes(StandardCharsets.UTF_8), root)
        .returning(Operation::stringOf);
  }

  static Operation<long[][]> allGatherLongs(long[] mine) {
    long[] sent = mine.clone();
    if (sent.length == 0) {
      throw new IllegalArgumentException("mine must hold at least 1 number, got 0");
    }
    return new Operation<>(
        "all-gather",
        () -> (long) Long.BYTES * sent.length,
        (group, mode) -> {
          try (Tensor numbers = outsideOfScopes(() -> Tensor.create(sent, sent.length))) {
            return group.all_gather(numbers, mode);
          }
        },
        work -> {
          try (PointerScope scope = new PointerScope()) {
            Tensor stacked = requireNonNull(work).result(0);
            long[][] all = new long[Math.toIntExact(stacked.size(0))][sent.length];
            LongPointer numbers = new LongPointer(stacked.data_ptr());
            for (int i = 0; i < all.length; i++) {
              numbers.position((long) i * sent.length).get(all[i]);
            }
            return all;
          }
        });
  }

  private static int checked(int tag) {
    if (tag < 0 || tag >= MAX_TAGS) {
      throw new IllegalArgumentException("tag must be in [0, " + MAX_TAGS + "), got " + tag);
    }
    return tag;
  }

  Operation<T> named(String other) {
    return new Operation<>(other, peer, bytes, body, result);
  }

  private <R> Operation<R> returning(Function<T, R> conversion) {
    return new Operation<>(name, peer, bytes, body, work -> conversion.apply(result.of(work)));
  }

  private static Tensor[] rows(@Nullable NativeWork work, int index) {
    try (Tensor stacked = requireNonNull(work).result(index)) {
      Tensor[] tensors = new Tensor[Math.toIntExact(stacked.size(0))];
      for (int i = 0; i < tensors.length; i++) {
        tensors[i] = stacked.select(0, i);
      }
      return tensors;
    }
  }

  private static String stringOf(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static Tensor tensorOf(byte[] bytes) {
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

  private static byte[] bytesOf(@Nullable NativeWork work, int index) {
    try (PointerScope scope = new PointerScope()) {
      Tensor tensor = requireNonNull(work).result(index);
      byte[] bytes = new byte[Math.toIntExact(tensor.numel())];
      if (bytes.length > 0) {
        new BytePointer(tensor.data_ptr()).get(bytes);
      }
      return bytes;
    }
  }
}
