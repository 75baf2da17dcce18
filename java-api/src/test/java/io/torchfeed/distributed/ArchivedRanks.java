// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.Torchfeed;
import io.torchfeed.testing.RankThreads;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;

/** The program whose classes archive-classes archives: ranks that train, and the self-check. */
public final class ArchivedRanks {
  private ArchivedRanks() {}

  @SuppressWarnings("try") // scope is not referenced
  public static void main(String[] args) throws Exception {
    RankThreads.run(2, TestRank::collectives);
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            TestRank.gradients(group, new Device("cpu"));
          }
        });
    Torchfeed.main(args);
  }
}
