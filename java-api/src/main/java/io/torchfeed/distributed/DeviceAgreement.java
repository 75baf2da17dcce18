// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import org.jspecify.annotations.Nullable;

/** An agreement of all ranks that each of them can use its device. */
final class DeviceAgreement {
  private DeviceAgreement() {}

  /**
   * Throws on every rank if a rank cannot; a collective operation.
   *
   * @param obstacle why this rank cannot; null if it can
   */
  static void require(Collectives ranks, @Nullable RuntimeException obstacle) {
    long[][] all = ranks.allGatherLongs(new long[] {obstacle == null ? 1 : 0});
    if (obstacle != null) {
      throw obstacle;
    }
    for (int rank = 0; rank < all.length; rank++) {
      if (all[rank][0] == 0) {
        throw new IllegalStateException(
            "rank " + rank + " cannot use its device; see its log for the reason");
      }
    }
  }
}
