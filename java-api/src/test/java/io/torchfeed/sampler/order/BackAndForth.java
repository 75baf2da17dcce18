// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;

/** A user's own division: every other step assigns its positions to the ranks in reverse. */
public final class BackAndForth extends DividedSampler {
  public BackAndForth(Sampler dataset, Part part, Tail tail) {
    super("backAndForth", dataset, part, tail);
  }

  @Override
  protected int place(long step, int rank, int worldSize) {
    return step % 2 == 0 ? rank : worldSize - 1 - rank;
  }
}
