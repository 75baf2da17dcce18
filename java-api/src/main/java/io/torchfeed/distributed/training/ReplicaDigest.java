// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import io.torchfeed.bindings.GradientReducer;
import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.internal.Sha256;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** The SHA-256 of the names, sizes and bytes of a replica's parameters. */
final class ReplicaDigest {
  private ReplicaDigest() {}

  static byte[] of(NativeHandle<GradientReducer> handle) {
    MessageDigest digest = Sha256.start();
    long count = handle.call(GradientReducer::parameter_count);
    for (long i = 0; i < count; i++) {
      long index = i;
      try (PointerScope scope = new PointerScope()) {
        String name = handle.call(reducer -> reducer.parameter_name(index)).getString();
        Tensor bytes = handle.call(reducer -> reducer.parameter_bytes(index));
        digest.update((name + '\n' + bytes.numel() + '\n').getBytes(StandardCharsets.UTF_8));
        NativeBytes.forEach(bytes.data_ptr(), bytes.numel(), digest::update);
      }
    }
    return digest.digest();
  }

  /** Throws on every rank if the digest of a rank differs from rank 0's. */
  static void requireEqual(byte[] mine, ProcessGroup group) {
    byte[][] all = group.allGatherBytes(mine);
    for (int rank = 1; rank < all.length; rank++) {
      if (!Arrays.equals(all[0], all[rank])) {
        throw new IllegalStateException(
            "the parameters of rank "
                + rank
                + " differ from those of rank 0: digest "
                + HexFormat.of().formatHex(all[rank])
                + ", rank 0 has "
                + HexFormat.of().formatHex(all[0]));
      }
    }
  }
}
