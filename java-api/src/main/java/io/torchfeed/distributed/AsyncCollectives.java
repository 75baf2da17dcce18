// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import org.bytedeco.pytorch.Tensor;

/** The operations of {@link Collectives}, started without waiting for them. */
public final class AsyncCollectives extends AsyncTensorCollectives {
  AsyncCollectives(GroupCalls calls) {
    super(calls);
  }

  /**
   * Starts {@link Collectives#allToAll}.
   *
   * @param outputs one for each rank; output i has as many elements as rank i sends to this rank
   * @param inputs one for each rank, sent to it; of any shapes, and of one dtype on all ranks
   * @return the operation
   */
  public Work<Void> allToAll(Tensor[] outputs, Tensor[] inputs) {
    requireNonNull(inputs, "inputs");
    requireNonNull(outputs, "outputs");
    return calls.start(Operation.allToAll(outputs, inputs));
  }

  /**
   * Starts {@link Collectives#allGatherBytes}.
   *
   * @param mine of any length; not modified
   * @return the operation, which returns one new array per rank, in rank order
   */
  public Work<byte[][]> allGatherBytes(byte[] mine) {
    requireNonNull(mine, "mine");
    return calls.start(Operation.allGatherBytes(mine));
  }

  /**
   * Starts {@link Collectives#broadcastBytes}.
   *
   * @param mine of any length; used only at the root
   * @param root the rank whose bytes are sent to all, in [0, size)
   * @return the operation, which returns a new array
   */
  public Work<byte[]> broadcastBytes(byte[] mine, int root) {
    requireNonNull(mine, "mine");
    return calls.start(Operation.broadcastBytes(mine, root));
  }

  /**
   * Starts {@link Collectives#allGatherStrings}.
   *
   * @param mine of any length; sent as UTF-8
   * @return the operation, which returns one string per rank, in rank order
   */
  public Work<String[]> allGatherStrings(String mine) {
    requireNonNull(mine, "mine");
    return calls.start(Operation.allGatherStrings(mine));
  }

  /**
   * Starts {@link Collectives#broadcastString}.
   *
   * @param mine used only at the root; sent as UTF-8
   * @param root the rank whose string is sent to all, in [0, size)
   * @return the operation, which returns the string of the root
   */
  public Work<String> broadcastString(String mine, int root) {
    requireNonNull(mine, "mine");
    return calls.start(Operation.broadcastString(mine, root));
  }
}
