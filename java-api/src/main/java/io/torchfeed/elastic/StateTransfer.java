// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.distributed.ProcessGroup;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Copies the state of one rank to the others of a group: its tensors by a broadcast each, so that
 * their bytes are never in the heap, and may be more than 2 GiB.
 *
 * <p>In addition to the state itself, each rank needs native memory for one copy of it.
 */
public final class StateTransfer {
  private StateTransfer() {}

  /**
   * Copies a state. Every rank calls it. The others load the state when all of it has arrived on
   * all ranks and its checksum agrees; a failure before that changes nothing. A rank that cannot
   * save the state, or has no memory for it, {@linkplain ProcessGroup#abort(Throwable) aborts} the
   * group, and the others throw at once.
   *
   * @param state has the same parts on all ranks; borrowed
   * @param group the ranks; borrowed
   * @param root the rank whose state is sent, in [0, size)
   * @throws IllegalArgumentException on a rank that the state does not fit; on every rank, if a
   *     rank calls another operation of the group, or the root is out of range
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost, has aborted the group, or
   *     does not respond within the timeout
   * @throws IllegalStateException if the state cannot be saved at this moment, a rank has received
   *     other bytes than were sent, or the group is closed or aborted
   */
  public static void broadcast(Stateful state, ProcessGroup group, int root) {
    requireNonNull(group, "group");
    requireNonNull(state, "state");
    if (group.rank() == root) {
      try (StateDict mine = orAbort(group, state::sharedStateDict)) {
        group.broadcastBytes(orAbort(group, () -> describe(mine)), root);
        send(mine.tensors(), group, root);
        requireEqual(orAbort(group, mine::checksum), group, root);
      }
      return;
    }
    byte[] description = group.broadcastBytes(new byte[0], root);
    try (StateDict sent = orAbort(group, () -> empty(description))) {
      send(sent.tensors(), group, root);
      requireEqual(orAbort(group, sent::checksum), group, root);
      state.loadStateDict(sent);
    }
  }

  /** Runs a part of the work of this rank; if it fails, the others do not wait for it. */
  private static <T> T orAbort(ProcessGroup group, Supplier<T> own) {
    try {
      return own.get();
    } catch (RuntimeException | Error e) {
      group.abort(e);
      throw e;
    }
  }

  private static void send(Map<String, Tensor> tensors, ProcessGroup group, int root) {
    for (Tensor tensor : tensors.values()) {
      if (tensor.numel() > 0) {
        group.unchecked().broadcast(tensor, root);
      }
    }
  }

  private static void requireEqual(long checksum, ProcessGroup group, int root) {
    long[][] all = group.allGatherLongs(new long[] {checksum});
    for (int rank = 0; rank < all.length; rank++) {
      if (all[rank][0] != all[root][0]) {
        throw new IllegalStateException(
            "rank %d has received another state than rank %d has sent: the checksum differs"
                .formatted(rank, root));
      }
    }
  }

  private static byte[] describe(StateDict state) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes);
        PointerScope scope = new PointerScope()) {
      write(out, state.json());
      out.writeInt(state.tensors().size());
      for (Map.Entry<String, Tensor> entry : state.tensors().entrySet()) {
        write(out, entry.getKey());
        write(out, entry.getValue().scalar_type().intern().name());
        long[] shape = entry.getValue().sizes().vec().get();
        out.writeInt(shape.length);
        for (long size : shape) {
          out.writeLong(size);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e); // an array takes anything
    }
    return bytes.toByteArray();
  }

  private static void write(DataOutputStream out, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  private static String read(DataInputStream in) throws IOException {
    return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
  }

  /** Returns a state of the described tensors, without values. */
  private static StateDict empty(byte[] description) {
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(description));
        PointerScope scope = new PointerScope()) {
      String json = read(in);
      int count = in.readInt();
      for (int i = 0; i < count; i++) {
        String name = read(in);
        torch.ScalarType type = torch.ScalarType.valueOf(read(in));
        long[] shape = new long[in.readInt()];
        for (int d = 0; d < shape.length; d++) {
          shape[d] = in.readLong();
        }
        tensors.put(name, torch.empty(shape, new TensorOptions(type), null).retainReference());
      }
      return StateDict.owning(json, tensors);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (RuntimeException | Error e) {
      tensors.values().forEach(Tensor::close);
      throw e;
    }
  }
}
