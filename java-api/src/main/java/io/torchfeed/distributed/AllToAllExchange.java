// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.internal.Checks;
import java.util.Arrays;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * An all-to-all exchange of messages of different lengths. In step i of a ring, rank r sends to
 * rank r - i and receives from rank r + i, piece by piece, so a failure can be attributed to a
 * rank.
 */
final class AllToAllExchange {
  static final int PIECE_BYTES = 1 << 22;

  private static final String OPERATION = "all-to-all";
  private static final int REFUSED = -1;

  private final GroupCalls calls;
  private final AsyncTensorCollectives sending;
  private final AsyncTensorCollectives receiving;
  private final int rank;
  private final int worldSize;

  AllToAllExchange(GroupCalls calls) {
    this.calls = calls.named(OPERATION).inThisThread();
    GroupCalls pieces = calls.named(OPERATION).withChecks(false);
    sending = new AsyncTensorCollectives(pieces.inThisThread());
    receiving = new AsyncTensorCollectives(pieces);
    rank = calls.core().part().rank();
    worldSize = calls.core().part().worldSize();
  }

  byte[][] exchange(byte[][] messages) {
    String problem = Checks.problemOfMessages(messages, worldSize);
    long[] lengths = new long[worldSize];
    Arrays.setAll(lengths, to -> problem == null ? messages[to].length : REFUSED);
    synchronized (calls.core()) { // exchanges by several threads use one tag
      long[][] all = new AsyncTensorCollectives(calls).allGatherLongs(lengths).await();
      if (problem != null) {
        throw new IllegalArgumentException(problem);
      }
      byte[][] received = new byte[worldSize][];
      for (int from = 0; from < worldSize; from++) {
        if (all[from][rank] == REFUSED) {
          throw new IllegalArgumentException(
              "rank %d rejected its own arguments; see its log for the reason".formatted(from));
        }
        received[from] = from == rank ? messages[rank] : new byte[(int) all[from][rank]];
      }
      if (worldSize > 1) {
        exchange(messages, received);
      }
      return received;
    }
  }

  private void exchange(byte[][] messages, byte[][] received) {
    try (PointerScope scope = new PointerScope()) {
      Piece out = new Piece(messages);
      Piece in = new Piece(received);
      for (int step = 1; step < worldSize; step++) {
        int to = Math.floorMod(rank - step, worldSize);
        int from = (rank + step) % worldSize;
        int longest = Math.max(messages[to].length, received[from].length);
        for (int at = 0; at >= 0 && at < longest; at += PIECE_BYTES) {
          try (PointerScope piece = new PointerScope()) {
            exchange(out.holding(messages[to], at), to, in.of(received[from], at), from);
          }
          in.unload(received[from], at);
        }
      }
    }
  }

  /** Sends and receives concurrently; empty pieces are neither sent nor received. */
  private void exchange(Tensor sent, int to, Tensor taken, int from) {
    @Nullable Work<Void> arrival =
        taken.numel() > 0 ? receiving.receive(taken, from, AsyncTensorCollectives.MAX_TAGS) : null;
    if (sent.numel() > 0) {
      sending.transmit(sent, to, AsyncTensorCollectives.MAX_TAGS);
    }
    if (arrival != null) {
      arrival.await();
    }
  }

  /** A native buffer for one piece of a message. */
  private static final class Piece {
    private final Tensor room;
    private final BytePointer bytes;

    /** Allocates room for a piece of the longest message; the open scope owns it. */
    Piece(byte[][] messages) {
      int longest = Arrays.stream(messages).mapToInt(message -> message.length).max().orElse(0);
      room =
          torch.empty(
              new long[] {Math.min(longest, PIECE_BYTES)},
              new TensorOptions(torch.ScalarType.Byte),
              new MemoryFormatOptional());
      bytes = new BytePointer(room.data_ptr());
    }

    private static int length(byte[] message, int at) {
      return Math.max(0, Math.min(PIECE_BYTES, message.length - at));
    }

    Tensor of(byte[] message, int at) {
      return room.narrow(0, 0, length(message, at));
    }

    Tensor holding(byte[] message, int at) {
      int length = length(message, at);
      if (length > 0) {
        bytes.put(message, at, length);
      }
      return of(message, at);
    }

    void unload(byte[] message, int at) {
      int length = length(message, at);
      if (length > 0) {
        bytes.get(message, at, length);
      }
    }
  }
}
