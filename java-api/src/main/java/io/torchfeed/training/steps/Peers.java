// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training.steps;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.RankConsistency.AllGather;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The exchanges between the ranks of a loop; a process without others sends nothing.
 *
 * @param part this rank among them
 * @param numbers gathers arrays of all ranks
 * @param texts gathers texts of all ranks
 * @param barrier waits for all ranks
 */
public record Peers(
    Part part, AllGather numbers, Function<String, String[]> texts, Runnable barrier) {
  /** Returns the ranks of a group, or none but this process. */
  public static Peers of(@Nullable ProcessGroup group) {
    return group == null
        ? new Peers(
            Part.whole(), mine -> new long[][] {mine}, mine -> new String[] {mine}, () -> {})
        : new Peers(group.part(), group::allGatherLongs, group::allGatherStrings, group::barrier);
  }
}
