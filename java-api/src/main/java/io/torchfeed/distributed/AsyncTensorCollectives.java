// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import org.bytedeco.pytorch.Tensor;

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
    return calls.start(Operation.barrier());
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
    requireNonNull(op, "op");
    return calls.start(Operation.allReduce(tensor, op));
  }

  /**
   * Starts {@link TensorCollectives#allReduceCoalesced}.
   *
   * @param tensors at least one, all of one dtype; updated in place
   * @param op how the values are combined
   * @return the operation
   */
  public Work<Void> allReduceCoalesced(Tensor[] tensors, ReduceOp op) {
    requireNonNull(op, "op");
    requireNonNull(tensors, "tensors");
    return calls.start(Operation.allReduceCoalesced(tensors, op));
  }

  /**
   * Starts {@link TensorCollectives#reduce}.
   *
   * @param tensor as of {@link #allReduce}; not modified on the other ranks
   * @param op how the values are combined
   * @param root the rank that receives the result, in [0, size)
   * @return the operation
   */
  public Work<Void> reduce(Tensor tensor, ReduceOp op, int root) {
    requireNonNull(op, "op");
    return calls.start(Operation.reduce(tensor, op, root));
  }

  /**
   * Starts {@link TensorCollectives#reduceScatterTensor}.
   *
   * @param output receives part {@code rank} of the result; as many elements as a part
   * @param input one part for each rank, in rank order; not modified; dtypes as of {@link
   *     #allReduce}
   * @param op how the values are combined
   * @return the operation
   */
  public Work<Void> reduceScatterTensor(Tensor output, Tensor input, ReduceOp op) {
    requireNonNull(op, "op");
    return calls.start(Operation.reduceScatterTensor(output, input, op));
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
    requireNonNull(inputs, "inputs");
    requireNonNull(op, "op");
    requireNonNull(outputs, "outputs");
    return calls.start(Operation.reduceScatterCoalesced(outputs, inputs, op));
  }

  /**
   * Starts {@link TensorCollectives#broadcast}.
   *
   * @param tensor of any shape and dtype; updated in place, without recording for autograd
   * @param root the rank whose values are sent to all, in [0, size)
   * @return the operation
   */
  public Work<Void> broadcast(Tensor tensor, int root) {
    return calls.start(Operation.broadcast(tensor, root));
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
    requireNonNull(inputs, "inputs");
    return calls.start(Operation.scatter(output, inputs, root));
  }

  /**
   * Starts {@link TensorCollectives#allGather}.
   *
   * @param tensor of any shape and dtype, the same on all ranks; not modified
   * @return the operation, which returns one tensor per rank, in rank order, all views of one block
   *     of memory
   */
  public Work<Tensor[]> allGather(Tensor tensor) {
    return calls.start(Operation.allGather(tensor));
  }

  /**
   * Starts {@link TensorCollectives#allGatherCoalesced}.
   *
   * @param tensors at least one, of any shapes and dtypes, the same on all ranks; not modified
   * @return the operation, which returns for each of the tensors, one per rank
   */
  public Work<Tensor[][]> allGatherCoalesced(Tensor[] tensors) {
    requireNonNull(tensors, "tensors");
    return calls.start(Operation.allGatherCoalesced(tensors));
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
    return calls.start(Operation.allGatherIntoTensor(output, input));
  }

  /**
   * Starts {@link TensorCollectives#gather}.
   *
   * @param tensor of any shape and dtype, the same on all ranks; not modified
   * @param root the rank that receives them, in [0, size)
   * @return the operation, which returns at the root one tensor per rank
   */
  public Work<Tensor[]> gather(Tensor tensor, int root) {
    return calls.start(Operation.gather(tensor, root));
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
    return calls.start(Operation.allToAllSingle(output, input, null, null));
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
    return calls.start(
        Operation.allToAllSingle(
            output, input, calls.splits(outputSplits), calls.splits(inputSplits)));
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
    return calls.start(Operation.send(tensor, to, tag));
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
    return calls.start(Operation.recv(tensor, from, tag));
  }
}
