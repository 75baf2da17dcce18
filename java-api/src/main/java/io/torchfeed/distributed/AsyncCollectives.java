// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static io.torchfeed.distributed.Operation.inPlace;
import static io.torchfeed.distributed.Operation.listed;
import static io.torchfeed.distributed.Operation.sizeOf;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import java.util.Arrays;
import java.util.stream.Stream;
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
    Tensor[] read = requireNonNull(inputs, "inputs").clone();
    Tensor[] written = requireNonNull(outputs, "outputs").clone();
    return calls.start(
        inPlace(
            "all-to-all",
            sizeOf(read),
            (group, mode) ->
                listed(written, to -> listed(read, from -> group.all_to_all(to, from, mode)))));
  }

  /**
   * Starts {@link Collectives#allGatherBytes}.
   *
   * @param mine of any length; not modified
   * @return the operation, which returns one new array per rank, in rank order
   */
  public Work<byte[][]> allGatherBytes(byte[] mine) {
    return calls.start(gathering(requireNonNull(mine, "mine").clone()));
  }

  /**
   * Starts {@link Collectives#broadcastBytes}.
   *
   * @param mine of any length; used only at the root
   * @param root the rank whose bytes are sent to all, in [0, size)
   * @return the operation, which returns a new array
   */
  public Work<byte[]> broadcastBytes(byte[] mine, int root) {
    return calls.start(broadcasting(requireNonNull(mine, "mine").clone(), root));
  }

  /**
   * Starts {@link Collectives#allGatherStrings}.
   *
   * @param mine of any length; sent as UTF-8
   * @return the operation, which returns one string per rank, in rank order
   * @throws IllegalArgumentException if the string has half of a surrogate pair
   */
  public Work<String[]> allGatherStrings(String mine) {
    return calls.start(
        gathering(Checks.utf8("mine", mine))
            .returning(
                all -> Stream.of(all).map(each -> new String(each, UTF_8)).toArray(String[]::new)));
  }

  /**
   * Starts {@link Collectives#broadcastString}.
   *
   * @param mine used only at the root; sent as UTF-8
   * @param root the rank whose string is sent to all, in [0, size)
   * @return the operation, which returns the string of the root
   * @throws IllegalArgumentException if the string has half of a surrogate pair
   */
  public Work<String> broadcastString(String mine, int root) {
    return calls.start(
        broadcasting(Checks.utf8("mine", mine), root).returning(bytes -> new String(bytes, UTF_8)));
  }

  private static Operation<byte[][]> gathering(byte[] sent) {
    return new Operation<>(
        "all-gather",
        () -> sent.length,
        (group, mode) -> {
          try (Tensor bytes = Operation.tensorOf(sent)) {
            return group.all_gather_bytes(bytes, mode);
          }
        },
        work -> {
          byte[][] all = new byte[Math.toIntExact(requireNonNull(work).results())][];
          Arrays.setAll(all, i -> Operation.bytesOf(work, i));
          return all;
        });
  }

  private static Operation<byte[]> broadcasting(byte[] sent, int root) {
    return new Operation<>(
        "broadcast",
        () -> sent.length,
        (group, mode) -> {
          try (Tensor bytes = Operation.tensorOf(sent)) {
            return group.broadcast_bytes(bytes, root, mode);
          }
        },
        work -> Operation.bytesOf(work, 0));
  }
}
