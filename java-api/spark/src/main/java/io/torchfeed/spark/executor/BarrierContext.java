// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.executor;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.spark.RankCheckpoints;
import io.torchfeed.spark.RankContext;
import io.torchfeed.spark.link.RankLink;
import io.torchfeed.training.Ranks;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The place of a rank that is a task of a barrier stage. */
final class BarrierContext implements RankContext {
  private final ProcessGroup group;
  private final RankLink link;
  private final int attempt;
  private final String device;
  private final @Nullable RankCheckpoints checkpoints;

  BarrierContext(
      ProcessGroup group,
      RankLink link,
      int attempt,
      String device,
      @Nullable RankCheckpoints checkpoints) {
    this.group = group;
    this.link = link;
    this.attempt = attempt;
    this.device = device;
    this.checkpoints = checkpoints;
  }

  @Override
  public ProcessGroup group() {
    return group;
  }

  @Override
  public Ranks ranks() {
    return new BarrierRanks(group, checkpoints);
  }

  @Override
  public int attempt() {
    return attempt;
  }

  @Override
  public String device() {
    return device;
  }

  @Override
  public RankCheckpoints checkpoints() {
    if (checkpoints == null) {
      throw new IllegalStateException(
          "the job has no checkpoints; name a path by checkpoints(path)");
    }
    return checkpoints;
  }

  @Override
  public boolean hasCheckpoints() {
    return checkpoints != null;
  }

  @Override
  public void report(long epoch, Map<String, Double> metrics) {
    link.progress(epoch, Map.copyOf(requireNonNull(metrics, "metrics")));
  }
}
