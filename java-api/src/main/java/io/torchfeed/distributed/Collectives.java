// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import org.bytedeco.pytorch.Tensor;

/**
 * The collective operations of a {@link ProcessGroup}: {@link TensorCollectives}, and operations on
 * lists of tensors, bytes and strings.
 *
 * <p><b>Checks.</b> Each operation begins with one message from each rank to each other, of the
 * same form for all operations: the rank's call (operation, reduction, shapes, dtypes and root; of
 * several tensors, those after the first as a hash of 64 bits) and, if they take at most 16 KiB,
 * the values for that rank. No rank uses values before it has compared the calls of all ranks. If
 * two ranks call different things, all ranks throw an {@link IllegalArgumentException} that names
 * both calls, no tensor is modified, and the group remains usable. Small operations consist of this
 * message alone, and reduce in rank order, which gives the same bits on all ranks; others begin
 * after it, and {@link #unchecked} leaves it out. A rank sends as many of these messages as there
 * are other ranks; their cost was measured with two ranks only. With {@link #send} and {@link
 * #recv}, only the receiver compares, and only it throws.
 */
public sealed class Collectives extends TensorCollectives permits ProcessGroup {
  /** Performs each operation in the calling thread, before it returns. */
  private final AsyncCollectives here;

  Collectives(GroupCalls calls) {
    super(calls);
    here = new AsyncCollectives(calls.inThisThread());
  }

  /**
   * Returns the same operations without waiting for them.
   *
   * @return a view of the group, with the checks of this one
   */
  @Override
  public AsyncCollectives async() {
    return new AsyncCollectives(calls);
  }

  /**
   * Returns the same operations without the checks, for the hot path of tensors of more than 16
   * KiB: a mismatch between ranks may then end in an unrelated error, a timeout, or the end of the
   * process. All ranks must use the same view for the same operation. With smaller tensors this
   * view may be slower.
   *
   * @return a view of the group
   */
  public Collectives unchecked() {
    return new Collectives(calls.withChecks(false));
  }

  /**
   * Sends a tensor to every rank and receives one from each.
   *
   * @param outputs one for each rank; output i has as many elements as rank i sends to this rank
   * @param inputs one for each rank, sent to it; of any shapes, and of one dtype on all ranks
   */
  public void allToAll(Tensor[] outputs, Tensor[] inputs) {
    here.allToAll(outputs, inputs).await();
  }

  /**
   * Returns the bytes of all ranks.
   *
   * @param mine of any length; not modified
   * @return one new array per rank, in rank order
   */
  public byte[][] allGatherBytes(byte[] mine) {
    return here.allGatherBytes(mine).await();
  }

  /**
   * Returns the bytes of the root on every rank.
   *
   * @param mine of any length; used only at the root
   * @param root the rank whose bytes are sent to all, in [0, size)
   * @return a new array
   */
  public byte[] broadcastBytes(byte[] mine, int root) {
    return here.broadcastBytes(mine, root).await();
  }

  /**
   * Returns the strings of all ranks.
   *
   * @param mine of any length; sent as UTF-8
   * @return one string per rank, in rank order
   * @throws IllegalArgumentException on this rank, if the string has half of a surrogate pair
   */
  public String[] allGatherStrings(String mine) {
    return here.allGatherStrings(mine).await();
  }

  /**
   * Returns the string of the root on every rank.
   *
   * @param mine used only at the root; sent as UTF-8
   * @param root the rank whose string is sent to all, in [0, size)
   * @return the string of the root
   * @throws IllegalArgumentException on this rank, if the string has half of a surrogate pair
   */
  public String broadcastString(String mine, int root) {
    return here.broadcastString(mine, root).await();
  }

  /**
   * Sends a message to every rank and receives one from each; implements {@code AllToAll} of the
   * graph package:
   *
   * <pre>{@code
   * Edges edges = EdgeLoader.over(plan).build().load(group.rank(), group::allToAll);
   * }</pre>
   *
   * <p>The bytes are sent unchanged in pieces of at most 4 MiB. In addition to the messages, the
   * exchange needs native memory for two pieces, regardless of the number of ranks.
   *
   * @param messages the messages to send: message i goes to rank i, including this rank itself; of
   *     any lengths, not modified
   * @return the messages received: message i comes from rank i; the entry of this rank is the array
   *     that was passed in
   * @throws OutOfMemoryError if the received messages do not fit into the heap
   */
  public byte[][] allToAll(byte[][] messages) {
    requireNonNull(messages, "messages");
    return new AllToAllExchange(calls).exchange(messages);
  }
}
