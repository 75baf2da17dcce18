// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static io.torchfeed.bindings.NativeHandle.outsideOfScopes;
import static io.torchfeed.distributed.Operation.inPlace;
import static io.torchfeed.distributed.Operation.listed;
import static io.torchfeed.distributed.Operation.rows;
import static io.torchfeed.distributed.Operation.sizeOf;
import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.TimeLimit;
import java.time.Duration;
import java.util.Arrays;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The operations of {@link TensorCollectives}, started without waiting for them.
 *
 * <p>A thread of the group performs them in the order of the calls, one at a time, so they overlap
 * with the program's computation, and never with each other; only messages by {@link #send} and
 * {@link #recv} of different tags or peers do. To overlap two operations, use a {@linkplain
 * ProcessGroup#subgroup sub-group} for one of them. For the requirements on arguments, see {@link
 * TensorCollectives}. Invalid arguments and lost ranks are reported by the {@link Work}.
 *
 * <p>Thread-safe; but threads that start operations of one group must agree on their order, as they
 * have to be the same on all ranks.
 */
public sealed class AsyncTensorCollectives permits AsyncCollectives {
  /** Tags of users are less than this. */
  static final int MAX_TAGS = 1 << 27;

  /** In place of an operation's own timeout. */
  private static final long GROUP_TIMEOUT = 0;

  final GroupCalls calls;

  AsyncTensorCollectives(GroupCalls calls) {
    this.calls = calls;
  }

  /**
   * Starts {@link TensorCollectives#barrier}.
   *
   * @return the operation
   */
  public Work<Void> barrier() {
    return barrier(GROUP_TIMEOUT);
  }

  /**
   * Starts {@link TensorCollectives#barrier(Duration)}. The timeout counts from the turn of the
   * operation.
   *
   * @param timeout how long this rank waits for the others, at least 1 ms; theirs may differ
   * @return the operation
   */
  public Work<Void> barrier(Duration timeout) {
    return barrier(TimeLimit.atLeastOneMilli("timeout", timeout).toMillis());
  }

  private Work<Void> barrier(long millis) {
    return calls.start(inPlace("barrier", () -> 0, (group, mode) -> group.barrier(mode, millis)));
  }

  /**
   * Starts {@link TensorCollectives#allReduce}.
   *
   * @param tensor of any shape; float32, float64, float16, bfloat16, int8, uint8, int32 or int64;
   *     updated in place, without recording for autograd
   * @param op how the values are combined
   * @return the operation
   */
  public Work<Void> allReduce(Tensor tensor, ReduceOp op) {
    int code = requireNonNull(op, "op").code();
    requireNonNull(tensor, "tensor");
    return calls.start(
        inPlace(
            "all-reduce", sizeOf(tensor), (group, mode) -> group.all_reduce(tensor, code, mode)));
  }

  /**
   * Starts {@link TensorCollectives#allReduceCoalesced}.
   *
   * @param tensors at least one, all of one dtype; updated in place
   * @param op how the values are combined
   * @return the operation
   */
  public Work<Void> allReduceCoalesced(Tensor[] tensors, ReduceOp op) {
    int code = requireNonNull(op, "op").code();
    Tensor[] all = requireNonNull(tensors, "tensors").clone();
    return calls.start(
        inPlace(
            "all-reduce",
            sizeOf(all),
            (group, mode) -> listed(all, list -> group.all_reduce_coalesced(list, code, mode))));
  }

  /**
   * Starts {@link TensorCollectives#reduce}.
   *
   * @param tensor as in {@link #allReduce}; not modified on the other ranks
   * @param op how the values are combined
   * @param root the rank that receives the result, in [0, size)
   * @return the operation
   */
  public Work<Void> reduce(Tensor tensor, ReduceOp op, int root) {
    int code = requireNonNull(op, "op").code();
    requireNonNull(tensor, "tensor");
    return calls.start(
        inPlace("reduce", sizeOf(tensor), (group, mode) -> group.reduce(tensor, code, root, mode)));
  }

  /**
   * Starts {@link TensorCollectives#reduceScatterTensor}.
   *
   * @param output receives part {@code rank} of the result; as many elements as a part
   * @param input one part for each rank, in rank order; not modified; dtypes as in {@link
   *     #allReduce}
   * @param op how the values are combined
   * @return the operation
   */
  public Work<Void> reduceScatterTensor(Tensor output, Tensor input, ReduceOp op) {
    int code = requireNonNull(op, "op").code();
    requireNonNull(output, "output");
    requireNonNull(input, "input");
    return calls.start(
        inPlace(
            "reduce-scatter",
            sizeOf(input),
            (group, mode) -> group.reduce_scatter(output, input, code, mode)));
  }

  /**
   * Starts {@link TensorCollectives#reduceScatterCoalesced}.
   *
   * @param outputs at least one, all of one dtype
   * @param inputs as many as outputs
   * @param op how the values are combined
   * @return the operation
   */
  public Work<Void> reduceScatterCoalesced(Tensor[] outputs, Tensor[] inputs, ReduceOp op) {
    Tensor[] read = requireNonNull(inputs, "inputs").clone();
    int code = requireNonNull(op, "op").code();
    Tensor[] written = requireNonNull(outputs, "outputs").clone();
    return calls.start(
        inPlace(
            "reduce-scatter",
            sizeOf(read),
            (group, mode) ->
                listed(
                    written,
                    to ->
                        listed(
                            read, from -> group.reduce_scatter_coalesced(to, from, code, mode)))));
  }

  /**
   * Starts {@link TensorCollectives#broadcast}.
   *
   * @param tensor of any shape and dtype; updated in place, without recording for autograd
   * @param root the rank whose values are sent to all, in [0, size)
   * @return the operation
   */
  public Work<Void> broadcast(Tensor tensor, int root) {
    requireNonNull(tensor, "tensor");
    return calls.start(
        inPlace("broadcast", sizeOf(tensor), (group, mode) -> group.broadcast(tensor, root, mode)));
  }

  /**
   * Starts {@link TensorCollectives#scatter}.
   *
   * @param output of any shape and dtype, the same on all ranks; receives input {@code rank} of the
   *     root
   * @param inputs at the root one tensor for each rank, all like the output; elsewhere none
   * @param root the rank whose inputs are sent, in [0, size)
   * @return the operation
   */
  public Work<Void> scatter(Tensor output, Tensor[] inputs, int root) {
    Tensor[] read = requireNonNull(inputs, "inputs").clone();
    requireNonNull(output, "output");
    return calls.start(
        inPlace(
            "scatter",
            sizeOf(output),
            (group, mode) -> listed(read, from -> group.scatter(output, from, root, mode))));
  }

  /**
   * Starts {@link TensorCollectives#allGather}.
   *
   * @param tensor of any shape and dtype, the same on all ranks; not modified
   * @return the operation, which returns one tensor per rank, in rank order, all views of one block
   *     of memory
   */
  public Work<Tensor[]> allGather(Tensor tensor) {
    requireNonNull(tensor, "tensor");
    return calls.start(
        new Operation<>(
            "all-gather",
            sizeOf(tensor),
            (group, mode) -> group.all_gather(tensor, mode),
            work -> rows(work, 0)));
  }

  /**
   * Starts {@link TensorCollectives#allGatherCoalesced}.
   *
   * @param tensors at least one, of any shapes and dtypes, the same on all ranks; not modified
   * @return the operation, which returns for each of the tensors, one per rank
   */
  public Work<Tensor[][]> allGatherCoalesced(Tensor[] tensors) {
    Tensor[] all = requireNonNull(tensors, "tensors").clone();
    return calls.start(
        new Operation<>(
            "all-gather",
            sizeOf(all),
            (group, mode) -> listed(all, list -> group.all_gather_coalesced(list, mode)),
            work -> {
              Tensor[][] results = new Tensor[all.length][];
              Arrays.setAll(results, i -> rows(work, i));
              return results;
            }));
  }

  /**
   * Starts {@link TensorCollectives#allGatherIntoTensor}.
   *
   * @param output receives the inputs one after the other, in rank order; as many elements as all
   *     of them
   * @param input of any shape and dtype, the same on all ranks; not modified
   * @return the operation
   */
  public Work<Void> allGatherIntoTensor(Tensor output, Tensor input) {
    requireNonNull(output, "output");
    requireNonNull(input, "input");
    return calls.start(
        inPlace(
            "all-gather",
            sizeOf(input),
            (group, mode) -> group.all_gather_into(output, input, mode)));
  }

  /**
   * Starts {@link TensorCollectives#gather}.
   *
   * @param tensor of any shape and dtype, the same on all ranks; not modified
   * @param root the rank that receives them, in [0, size)
   * @return the operation, which returns at the root one tensor per rank
   */
  public Work<Tensor[]> gather(Tensor tensor, int root) {
    requireNonNull(tensor, "tensor");
    return calls.start(
        new Operation<>(
            "gather",
            sizeOf(tensor),
            (group, mode) -> group.gather(tensor, root, mode),
            work -> work == null || work.results() == 0 ? new Tensor[0] : rows(work, 0)));
  }

  /**
   * Starts {@link TensorCollectives#allToAllSingle(Tensor, Tensor)}.
   *
   * @param output receives the rows of all ranks, in rank order; as many rows as the input
   * @param input as many rows (dimension 0) for each rank, in rank order; rows of one shape and
   *     dtype on all ranks
   * @return the operation
   */
  public Work<Void> allToAllSingle(Tensor output, Tensor input) {
    return exchangeRows(output, input, null, null);
  }

  /**
   * Starts {@link TensorCollectives#allToAllSingle(Tensor, Tensor, long[], long[])}.
   *
   * @param output receives the rows of all ranks, in rank order
   * @param input the rows (dimension 0) for each rank, in rank order; rows of one shape and dtype
   *     on all ranks
   * @param outputSplits how many rows come from each rank; their sum is the rows of the output
   * @param inputSplits how many rows go to each rank; their sum is the rows of the input
   * @return the operation
   */
  public Work<Void> allToAllSingle(
      Tensor output, Tensor input, long[] outputSplits, long[] inputSplits) {
    requireNonNull(inputSplits, "inputSplits");
    requireNonNull(outputSplits, "outputSplits");
    return exchangeRows(output, input, calls.splits(outputSplits), calls.splits(inputSplits));
  }

  /**
   * Starts {@link TensorCollectives#send}.
   *
   * @param tensor of any shape and dtype
   * @param to another rank than this one, in [0, size)
   * @param tag in [0, 2<sup>27</sup>)
   * @return the operation
   */
  public Work<Void> send(Tensor tensor, int to, int tag) {
    return transmit(tensor, to, checked(tag));
  }

  /**
   * Starts {@link TensorCollectives#recv}.
   *
   * @param tensor of the shape and dtype that is sent; updated in place
   * @param from another rank than this one, in [0, size)
   * @param tag the tag with which it is sent
   * @return the operation
   */
  public Work<Void> recv(Tensor tensor, int from, int tag) {
    return receive(tensor, from, checked(tag));
  }

  /**
   * Starts {@link TensorCollectives#allGatherLongs}.
   *
   * @param mine the numbers of this rank, at least one, and equally many on all ranks; not modified
   * @return the operation, which returns one new array per rank, in rank order
   */
  public Work<long[][]> allGatherLongs(long[] mine) {
    long[] sent = requireNonNull(mine, "mine").clone();
    if (sent.length == 0) {
      throw new IllegalArgumentException("mine must hold at least 1 number, got 0");
    }
    return calls.start(
        new Operation<>(
            "all-gather",
            () -> (long) Long.BYTES * sent.length,
            (group, mode) -> {
              try (Tensor numbers = outsideOfScopes(() -> Tensor.create(sent, sent.length))) {
                return group.all_gather(numbers, mode);
              }
            },
            work -> Operation.longsOf(work, sent.length)));
  }

  /** Takes the splits, as many as ranks, or null if all are equal. */
  private Work<Void> exchangeRows(
      Tensor output, Tensor input, long @Nullable [] outputSplits, long @Nullable [] inputSplits) {
    requireNonNull(output, "output");
    requireNonNull(input, "input");
    return calls.start(
        inPlace(
            "all-to-all",
            sizeOf(input),
            (group, mode) ->
                group.all_to_all_single(output, input, outputSplits, inputSplits, mode)));
  }

  /** Like {@link #send}, but allows reserved tags. */
  final Work<Void> transmit(Tensor tensor, int to, int tag) {
    requireNonNull(tensor, "tensor");
    return calls.start(
        inPlace("send", sizeOf(tensor), (group, mode) -> group.send(tensor, to, tag, mode))
            .failingWith(to));
  }

  /** Like {@link #recv}, but allows reserved tags. */
  final Work<Void> receive(Tensor tensor, int from, int tag) {
    requireNonNull(tensor, "tensor");
    return calls.start(
        inPlace("recv", sizeOf(tensor), (group, mode) -> group.receive(tensor, from, tag, mode))
            .failingWith(from));
  }

  private static int checked(int tag) {
    if (tag < 0 || tag >= MAX_TAGS) {
      throw new IllegalArgumentException("tag must be in [0, " + MAX_TAGS + "), got " + tag);
    }
    return tag;
  }
}
