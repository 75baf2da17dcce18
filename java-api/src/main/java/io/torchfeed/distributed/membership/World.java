// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;

import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The place of a rank in a generation: among those that train together until one joins or leaves.
 *
 * @param generation the number of this generation in the job; 1 for the first
 * @param rank in [0, {@code size})
 * @param size the number of ranks, the world size
 * @param origin where the state comes from with which this generation starts
 * @param step the steps that rank 0 has completed if the state comes from it; else empty
 * @param host the name or address of the machine of rank 0
 * @param port the port at which rank 0 listens, or 0 on rank 0 itself
 */
public record World(
    int generation, int rank, int size, Origin origin, OptionalLong step, String host, int port) {
  /**
   * Creates a value of its components.
   *
   * @param generation the number of this generation in the job; 1 for the first
   * @param rank in [0, {@code size})
   * @param size the number of ranks, the world size
   * @param origin where the state comes from with which this generation starts
   * @param step the steps that rank 0 has completed if the state comes from it; else empty
   * @param host the name or address of the machine of rank 0
   * @param port the port at which rank 0 listens, or 0 on rank 0 itself
   */
  public World {
    requireNonNull(host, "host");
    requireNonNull(origin, "origin");
    requireNonNull(step, "step");
  }

  /** The source of the state with which a generation starts. */
  public enum Origin {
    /** Nowhere: no rank of this job has completed a step. */
    START,

    /** Rank 0 holds it; the others take it from there. */
    RANK_ZERO,

    /**
     * The last checkpoint: all ranks that held the state are lost. Without a checkpoint, training
     * cannot continue; to begin again would repeat samples.
     */
    CHECKPOINT
  }

  /** Returns a generation as the messages describe it; rank 0 gets none about its master. */
  static World of(Message.Formed formed, Message.@Nullable Master master, String localHost) {
    return new World(
        formed.generation(),
        formed.rank(),
        formed.size(),
        formed.origin(),
        formed.step() == Message.NO_STEP ? OptionalLong.empty() : OptionalLong.of(formed.step()),
        master == null ? localHost : master.host(),
        master == null ? 0 : master.port());
  }
}
