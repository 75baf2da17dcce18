// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import java.time.Duration;
import org.bytedeco.pytorch.Tensor;

/**
 * The collective operations on tensors that ranks of Java and of Python have, named as in {@code
 * torch.distributed}.
 *
 * <p>All ranks must call the same operations in the same order, with arguments that fit. Tensors
 * may have any strides, and be on the CPU or a device: see {@link GroupOptions#withDevice}; one
 * call's are on one device. An operation on a device ends when the device has done it; messages and
 * bitwise reductions go through host memory. Thread-safe: the operations of a group run one at a
 * time, in the order of the calls, whether blocking or {@linkplain #async asynchronous}; messages
 * by {@link #send} and {@link #recv} wait only for others of the same tag and peer.
 *
 * <p>Every method throws {@link IllegalArgumentException} if an argument is invalid, or does not
 * fit the other ranks'; {@link PeerLostException} if a rank is lost or does not respond within the
 * timeout; and {@link IllegalStateException} if the group is closed or aborted, also during the
 * call.
 */
public abstract sealed class TensorCollectives permits Collectives, PythonProcessGroup {
  final GroupCalls calls;

  /** Performs each operation in the calling thread, before it returns. */
  private final AsyncTensorCollectives here;

  TensorCollectives(GroupCalls calls) {
    this.calls = calls;
    here = new AsyncTensorCollectives(calls.inThisThread());
  }

  /**
   * Returns the same operations without waiting for them.
   *
   * @return a view of the group
   */
  public AsyncTensorCollectives async() {
    return new AsyncTensorCollectives(calls);
  }

  /** Waits until every rank has called this method. */
  public void barrier() {
    here.barrier().await();
  }

  /**
   * Like {@link #barrier()}, with another timeout than the group's, shorter or longer. As after
   * that one, the group is no longer usable once it has passed, and this rank takes up to three
   * seconds more to learn which ranks are missing; {@link ProcessGroup#monitoredBarrier} leaves the
   * group usable.
   *
   * @param timeout how long this rank waits for the others, at least 1 ms; theirs may differ
   * @throws PeerLostException if a rank has not called this method by then; except in a {@link
   *     PythonProcessGroup}, the message names all of them
   */
  public void barrier(Duration timeout) {
    here.barrier(timeout).await();
  }

  /**
   * Replaces the tensor on every rank with its reduction over all ranks.
   *
   * @param tensor of any shape; float32, float64, float16, bfloat16, int8, uint8, int32 or int64;
   *     updated in place, without recording for autograd
   * @param op how the values are combined
   */
  public void allReduce(Tensor tensor, ReduceOp op) {
    here.allReduce(tensor, op).await();
  }

  /**
   * Reduces several tensors in one message, each as {@link #allReduce} does.
   *
   * @param tensors at least one, all of one dtype; updated in place
   * @param op how the values are combined
   */
  public void allReduceCoalesced(Tensor[] tensors, ReduceOp op) {
    here.allReduceCoalesced(tensors, op).await();
  }

  /**
   * Replaces the tensor on one rank with its reduction over all ranks.
   *
   * @param tensor as in {@link #allReduce}; not modified on the other ranks
   * @param op how the values are combined
   * @param root the rank that receives the result, in [0, size)
   */
  public void reduce(Tensor tensor, ReduceOp op, int root) {
    here.reduce(tensor, op, root).await();
  }

  /**
   * Reduces the inputs of all ranks, and gives each rank its part of the result.
   *
   * @param output receives part {@code rank} of the result; as many elements as a part
   * @param input one part for each rank, in rank order; not modified; dtypes as in {@link
   *     #allReduce}
   * @param op how the values are combined
   */
  public void reduceScatterTensor(Tensor output, Tensor input, ReduceOp op) {
    here.reduceScatterTensor(output, input, op).await();
  }

  /**
   * Reduces several inputs in one message, each as {@link #reduceScatterTensor} does.
   *
   * @param outputs at least one, all of one dtype
   * @param inputs as many as outputs
   * @param op how the values are combined
   */
  public void reduceScatterCoalesced(Tensor[] outputs, Tensor[] inputs, ReduceOp op) {
    here.reduceScatterCoalesced(outputs, inputs, op).await();
  }

  /**
   * Replaces the tensor on every rank with one rank's.
   *
   * @param tensor of any shape and dtype; updated in place, without recording for autograd
   * @param root the rank whose values are sent to all, in [0, size)
   */
  public void broadcast(Tensor tensor, int root) {
    here.broadcast(tensor, root).await();
  }

  /**
   * Gives each rank one of the tensors of the root.
   *
   * @param output of any shape and dtype, the same on all ranks; receives input {@code rank} of the
   *     root
   * @param inputs at the root, one tensor for each rank, all like the output; elsewhere, an empty
   *     array
   * @param root the rank whose inputs are sent, in [0, size)
   */
  public void scatter(Tensor output, Tensor[] inputs, int root) {
    here.scatter(output, inputs, root).await();
  }

  /**
   * Returns the tensors of all ranks.
   *
   * @param tensor of any shape and dtype, the same on all ranks; not modified
   * @return one tensor per rank, in rank order, all views of one block of memory; the caller owns
   *     them
   */
  public Tensor[] allGather(Tensor tensor) {
    return here.allGather(tensor).await();
  }

  /**
   * Gathers several tensors in one message, each as {@link #allGather} does.
   *
   * @param tensors at least one, of any shapes and dtypes, the same on all ranks; not modified
   * @return for each of the tensors, one per rank, in rank order; the caller owns them
   */
  public Tensor[][] allGatherCoalesced(Tensor[] tensors) {
    return here.allGatherCoalesced(tensors).await();
  }

  /**
   * Writes the tensors of all ranks into one.
   *
   * @param output receives the inputs one after the other, in rank order; as many elements as all
   *     of them
   * @param input of any shape and dtype, the same on all ranks; not modified
   */
  public void allGatherIntoTensor(Tensor output, Tensor input) {
    here.allGatherIntoTensor(output, input).await();
  }

  /**
   * Returns the tensors of all ranks on one rank.
   *
   * @param tensor of any shape and dtype, the same on all ranks; not modified
   * @param root the rank that receives them, in [0, size)
   * @return at the root, one tensor per rank, in rank order, which the caller owns; elsewhere, an
   *     empty array
   */
  public Tensor[] gather(Tensor tensor, int root) {
    return here.gather(tensor, root).await();
  }

  /**
   * Sends equally many rows of a tensor to every rank.
   *
   * @param output receives the rows of all ranks, in rank order; as many rows as the input
   * @param input the same number of rows (dimension 0) for each rank, in rank order; rows of one
   *     shape and dtype on all ranks
   */
  public void allToAllSingle(Tensor output, Tensor input) {
    here.allToAllSingle(output, input).await();
  }

  /**
   * Sends different numbers of rows of a tensor to the ranks.
   *
   * @param output receives the rows of all ranks, in rank order
   * @param input the rows (dimension 0) for each rank, in rank order; rows of one shape and dtype
   *     on all ranks
   * @param outputSplits how many rows come from each rank; their sum is the rows of the output
   * @param inputSplits how many rows go to each rank; their sum is the rows of the input
   */
  public void allToAllSingle(Tensor output, Tensor input, long[] outputSplits, long[] inputSplits) {
    here.allToAllSingle(output, input, outputSplits, inputSplits).await();
  }

  /**
   * Sends a tensor to one rank. Messages of one tag arrive in the order in which they were sent;
   * messages of different tags may overtake each other.
   *
   * @param tensor of any shape and dtype
   * @param to a rank other than this one, in [0, size)
   * @param tag in [0, 2<sup>27</sup>)
   */
  public void send(Tensor tensor, int to, int tag) {
    here.send(tensor, to, tag).await();
  }

  /**
   * Receives a tensor from one rank.
   *
   * @param tensor of the shape and dtype that is sent; updated in place
   * @param from a rank other than this one, in [0, size)
   * @param tag the tag with which it is sent
   */
  public void recv(Tensor tensor, int from, int tag) {
    here.recv(tensor, from, tag).await();
  }

  /**
   * Returns the numbers of all ranks; has the signature that the samplers' {@code RankConsistency}
   * expects:
   *
   * <pre>{@code
   * RankConsistency.beforeEpoch(sampler, epoch, batchSize, group::allGatherLongs);
   * }</pre>
   *
   * @param mine the numbers of this rank, at least one, and equally many on all ranks; not modified
   * @return one new array per rank, in rank order
   */
  public long[][] allGatherLongs(long[] mine) {
    return here.allGatherLongs(mine).await();
  }
}
