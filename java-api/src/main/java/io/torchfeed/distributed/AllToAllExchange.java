// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.sampler.Part;
import java.util.Arrays;
import java.util.OptionalInt;
import java.util.function.Function;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.bytedeco.pytorch.global.torch;

/**
 * An all-to-all exchange of messages of different lengths. In step i of a ring, rank r sends to
 * rank r - i and receives from rank r + i, piece by piece, so a failure can be attributed to a
 * rank.
 */
final class AllToAllExchange {
  static final int PIECE_BYTES = 1 << 22;

  static final String OPERATION = "all-to-all";
  private static final int TAG = 0;
  private static final int REFUSED = -1;

  private final long backend;
  private final int rank;
  private final int worldSize;

  /** Takes the address of a backend that must outlive all calls; 0 if there is only one rank. */
  AllToAllExchange(long backend, Part part) {
    this.backend = backend;
    this.rank = part.rank();
    this.worldSize = part.worldSize();
  }

  /** A non-owning pointer to a backend. */
  private static final class Borrowed extends Pointer {
    Borrowed(long address) {
      this.address = address;
    }
  }

  /**
   * Exchanges messages.
   *
   * @param gather gathers the message lengths of all ranks
   */
  byte[][] exchange(byte[][] messages, Function<long[], long[][]> gather) {
    boolean isComplete = messages.length == worldSize;
    long[] lengths = new long[worldSize];
    Arrays.setAll(lengths, to -> isComplete ? messages[to].length : REFUSED);
    long[][] all = gather.apply(lengths);
    if (!isComplete) {
      throw new IllegalArgumentException(
          "messages must hold one for each of %d ranks, got %d"
              .formatted(worldSize, messages.length));
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

  private void exchange(byte[][] messages, byte[][] received) {
    try (PointerScope scope = new PointerScope()) {
      ProcessGroupGloo group = new ProcessGroupGloo(new Borrowed(backend));
      Piece out = new Piece(messages);
      Piece in = new Piece(received);
      long start = System.nanoTime();
      for (int step = 1; step < worldSize; step++) {
        int to = Math.floorMod(rank - step, worldSize);
        int from = (rank + step) % worldSize;
        int longest = Math.max(messages[to].length, received[from].length);
        for (int at = 0; at >= 0 && at < longest; at += PIECE_BYTES) {
          try (PointerScope piece = new PointerScope()) {
            exchange(
                group, out.holding(messages[to], at), to, in.of(received[from], at), from, start);
          }
          in.unload(received[from], at);
        }
      }
    }
  }

  /** Sends and receives concurrently; empty pieces are neither sent nor received. */
  private static void exchange(
      ProcessGroupGloo group, Tensor sent, int to, Tensor taken, int from, long start) {
    int peer = from;
    try {
      Work receiving = taken.numel() > 0 ? group.recv(new TensorVector(taken), from, TAG) : null;
      peer = to;
      Work sending = sent.numel() > 0 ? group.send(new TensorVector(sent), to, TAG) : null;
      if (sending != null) {
        sending._wait();
      }
      peer = from;
      if (receiving != null) {
        receiving._wait();
      }
    } catch (RuntimeException e) {
      throw lost(peer, start, e);
    }
  }

  private static PeerLostException lost(int peer, long start, RuntimeException cause) {
    return PeerLostException.noted(
        OPERATION,
        start,
        OptionalInt.of(peer),
        String.valueOf(NativeException.translate(cause).getMessage())
            .replaceFirst("^\\[[^\\]]*:[0-9]+\\] ", ""),
        cause);
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
