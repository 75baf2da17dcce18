// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import org.bytedeco.pytorch.Tensor;

/**
 * The collective operations of a {@link ProcessGroup}, named as in {@code torch.distributed}.
 *
 * <p>All ranks must call the same operations in the same order, with arguments that fit. Tensors
 * may have any strides, and be on the CPU or a device: see {@link GroupOptions#withDevice}; one
 * call's are on one device. An operation on a device ends when the device has done it; messages and
 * bitwise reductions go through host memory. Thread-safe: the operations of a group run one at a
 * time, in the order of the calls, whether blocking or {@linkplain #async asynchronous}; messages
 * by {@link #send} and {@link #recv} wait only for others of the same tag and peer.
 *
 * <p><b>Checks.</b> Each operation begins with one message from each rank to each other, of the
 * same form for all operations: the rank's call (operation, reduction, shapes, dtypes and root; of
 * several tensors, those after the first as a hash of 64 bits) and, if they take at most 16 KiB,
 * the values for that rank. No rank uses values before it has compared the calls of all ranks. So
 * if two ranks call different things, all ranks throw an {@link IllegalArgumentException} that
 * names both calls, no tensor is modified, and the group remains usable. Small operations consist
 * of this message alone, and reduce in rank order, which gives the same bits on all ranks; others
 * begin after it, and {@link #unchecked} leaves it out. A rank sends as many of these messages as
 * there are other ranks; their cost was measured with two ranks only. With {@link #send} and {@link
 * #recv}, only the receiver compares, and only it throws. In a group with {@linkplain
 * ProcessGroup#joinPython Python ranks} nothing is compared.
 *
 * <p>Every method throws {@link IllegalArgumentException} if an argument is invalid, or does not
 * fit the other ranks'; {@link PeerLostException} if a rank is lost or does not respond within the
 * timeout; and {@link IllegalStateException} if the group is closed or aborted, also during the
 * call.
 */
public sealed class Collectives permits ProcessGroup {
  final GroupCalls calls;

  Collectives(GroupCalls calls) {
    this.calls = calls;
  }

  /**
   * Returns the same operations without waiting for them.
   *
   * @return a view of the group, with the checks of this one
   */
  public AsyncCollectives async() {
    return new AsyncCollectives(calls);
  }

  /**
   * Returns the same operations without the checks, for the hot path of tensors of more than 16
   * KiB: a mismatch between ranks may then end in an unrelated error, a timeout, or the end of the
   * process. All ranks must use the same view for the same operation. With smaller tensors this
   * view is not faster.
   *
   * @return a view of the group
   */
  public Collectives unchecked() {
    return new Collectives(calls.withChecks(false));
  }

  /** Waits until every rank has called this method. */
  public void barrier() {
    calls.run(Operation.barrier());
  }

  /**
   * Replaces the tensor on every rank with its reduction over all ranks.
   *
   * @param tensor of any shape; float32, float64, float16, bfloat16, int8, uint8, int32 or int64;
   *     updated in place, without recording for autograd
   * @param op how the values are combined
   */
  public void allReduce(Tensor tensor, ReduceOp op) {
    calls.run(Operation.allReduce(tensor, op));
  }

  /**
   * Reduces several tensors in one message, each as {@link #allReduce} does.
   *
   * @param tensors at least one, all of one dtype; updated in place
   * @param op how the values are combined
   */
  public void allReduceCoalesced(Tensor[] tensors, ReduceOp op) {
    calls.run(Operation.allReduceCoalesced(tensors, op));
  }

  /**
   * Replaces the tensor on one rank with its reduction over all ranks.
   *
   * @param tensor as for {@link #allReduce}; not modified on the other ranks
   * @param op how the values are combined
   * @param root the rank that receives the result, in [0, size)
   */
  public void reduce(Tensor tensor, ReduceOp op, int root) {
    calls.run(Operation.reduce(tensor, op, root));
  }

  /**
   * Reduces the inputs of all ranks, and gives each rank its part of the result.
   *
   * @param output receives part {@code rank} of the result; as many elements as a part
   * @param input one part for each rank, in rank order; not modified; dtypes as for {@link
   *     #allReduce}
   * @param op how the values are combined
   */
  public void reduceScatterTensor(Tensor output, Tensor input, ReduceOp op) {
    calls.run(Operation.reduceScatterTensor(output, input, op));
  }

  /**
   * Reduces several inputs in one message, each as {@link #reduceScatterTensor} does.
   *
   * @param outputs at least one, all of one dtype
   * @param inputs as many as outputs
   * @param op how the values are combined
   */
  public void reduceScatterCoalesced(Tensor[] outputs, Tensor[] inputs, ReduceOp op) {
    calls.run(Operation.reduceScatterCoalesced(outputs, inputs, op));
  }

  /**
   * Replaces the tensor on every rank with one rank's.
   *
   * @param tensor of any shape and dtype; updated in place, without recording for autograd
   * @param root the rank whose values are sent to all, in [0, size)
   */
  public void broadcast(Tensor tensor, int root) {
    calls.run(Operation.broadcast(tensor, root));
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
    calls.run(Operation.scatter(output, inputs, root));
  }

  /**
   * Returns the tensors of all ranks.
   *
   * @param tensor of any shape and dtype, the same on all ranks; not modified
   * @return one tensor per rank, in rank order, all views of one block of memory; the caller owns
   *     them
   */
  public Tensor[] allGather(Tensor tensor) {
    return calls.run(Operation.allGather(tensor));
  }

  /**
   * Gathers several tensors in one message, each as {@link #allGather} does.
   *
   * @param tensors at least one, of any shapes and dtypes, the same on all ranks; not modified
   * @return for each of the tensors, one per rank, in rank order; the caller owns them
   */
  public Tensor[][] allGatherCoalesced(Tensor[] tensors) {
    return calls.run(Operation.allGatherCoalesced(tensors));
  }

  /**
   * Writes the tensors of all ranks into one.
   *
   * @param output receives the inputs one after the other, in rank order; as many elements as all
   *     of them
   * @param input of any shape and dtype, the same on all ranks; not modified
   */
  public void allGatherIntoTensor(Tensor output, Tensor input) {
    calls.run(Operation.allGatherIntoTensor(output, input));
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
    return calls.run(Operation.gather(tensor, root));
  }

  /**
   * Sends a tensor to every rank and receives one from each.
   *
   * @param outputs one for each rank; output i has as many elements as rank i sends to this rank
   * @param inputs one for each rank, sent to it; of any shapes, and of one dtype on all ranks
   */
  public void allToAll(Tensor[] outputs, Tensor[] inputs) {
    calls.run(Operation.allToAll(outputs, inputs));
  }

  /**
   * Sends equally many rows of a tensor to every rank.
   *
   * @param output receives the rows of all ranks, in rank order; as many rows as the input
   * @param input the same number of rows (dimension 0) for each rank, in rank order; rows of one
   *     shape and dtype on all ranks
   */
  public void allToAllSingle(Tensor output, Tensor input) {
    calls.run(Operation.allToAllSingle(output, input, null, null));
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
    calls.run(
        Operation.allToAllSingle(
            output, input, calls.splits(outputSplits), calls.splits(inputSplits)));
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
    calls.run(Operation.send(tensor, to, tag));
  }

  /**
   * Receives a tensor from one rank.
   *
   * @param tensor of the shape and dtype that is sent; updated in place
   * @param from a rank other than this one, in [0, size)
   * @param tag the tag with which it is sent
   */
  public void recv(Tensor tensor, int from, int tag) {
    calls.run(Operation.recv(tensor, from, tag));
  }

  /**
   * Returns the bytes of all ranks.
   *
   * @param mine of any length; not modified
   * @return one new array per rank, in rank order
   */
  public byte[][] allGatherBytes(byte[] mine) {
    return calls.run(Operation.allGatherBytes(mine));
  }

  /**
   * Returns the bytes of the root on every rank.
   *
   * @param mine of any length; used only at the root
   * @param root the rank whose bytes are sent to all, in [0, size)
   * @return a new array
   */
  public byte[] broadcastBytes(byte[] mine, int root) {
    return calls.run(Operation.broadcastBytes(mine, root));
  }

  /**
   * Returns the strings of all ranks.
   *
   * @param mine of any length; sent as UTF-8
   * @return one string per rank, in rank order
   */
  public String[] allGatherStrings(String mine) {
    return calls.run(Operation.allGatherStrings(mine));
  }

  /**
   * Returns the string of the root on every rank.
   *
   * @param mine used only at the root; sent as UTF-8
   * @param root the rank whose string is sent to all, in [0, size)
   * @return the string of the root
   */
  public String broadcastString(String mine, int root) {
    return calls.run(Operation.broadcastString(mine, root));
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
    return calls.run(Operation.allGatherLongs(mine));
  }

  /**
   * Sends a message to every rank and receives one from each; implements {@code AllToAll} of the
   * graph package:
   *
   * <pre>{@code
   * Edges edges = EdgeLoader.over(plan).build().load(group.rank(), group::allToAll);
   * }</pre>
   *
   * <p>The bytes are sent unchanged in pieces of at most 4 MiB. Besides the messages, the exchange
   * needs native memory for two pieces, regardless of the number of ranks.
   *
   * @param messages the messages to send: message i goes to rank i, including this rank itself; of
   *     any lengths, not modified
   * @return the messages received: message i comes from rank i; the entry of this rank is the array
   *     that was passed in
   * @throws OutOfMemoryError if the received messages do not fit into the heap
   */
  public byte[][] allToAll(byte[][] messages) {
    return new AllToAllExchange(calls).exchange(messages);
  }
}
