// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import java.util.List;

/**
 * A sampler with the orders of libtorch's {@code DistributedRandomSampler} from a seed on: libtorch
 * knows no seed but the epoch, and Python's sampler adds the two, as this one does.
 *
 * @param libtorch the sampler whose epoch {@code seed + epoch} an epoch has
 * @param seed at least 0
 */
public record SeededSampler(DistributedRandomSampler libtorch, long seed)
    implements Sampler, DividedPlan<Cursor> {
  /**
   * Creates the plan of a rank.
   *
   * @param datasetSize number of samples, at least 0
   * @param part the part of this rank
   * @param seed at least 0
   * @return the plan
   */
  public static SeededSampler of(long datasetSize, Part part, long seed) {
    return new SeededSampler(DistributedRandomSampler.of(datasetSize, part), seed);
  }

  @Override
  public long size() {
    return libtorch.size();
  }

  @Override
  public Cursor openPart(long epoch, List<EpochSegment> before) {
    return libtorch.openPart(seed + epoch, before);
  }

  @Override
  public PlanParameters order() {
    return libtorch.order().inside("seeded", "seed").with("seed", seed);
  }

  @Override
  public Part part() {
    return libtorch.part();
  }

  @Override
  public Tail tail() {
    return libtorch.tail();
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    return libtorch.probe(seed + epoch, worldSize);
  }
}
