// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.membership.World;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;

/**
 * A generation of a job, as its rank 0 has noted it in the folder of {@link Generations}.
 *
 * @param run the number of the job in this folder, at least 1
 * @param number the number of the generation in its job, as the coordinator counts
 * @param ranks the number of ranks
 * @param origin where its state came from
 * @param step the steps that were completed before it
 * @param epoch the epoch in which it began
 * @param samples the samples of that epoch that were used before it, padding included; if a plan is
 *     divided into whole batches, the batches
 * @param began when it began
 * @param state the folder of the state with which it began; empty if that was deleted, or not
 *     written whole
 */
public record Generation(
    int run,
    int number,
    int ranks,
    World.Origin origin,
    long step,
    long epoch,
    long samples,
    Instant began,
    Optional<Path> state) {
  /**
   * Creates a value of its components.
   *
   * @param run the number of the job in this folder, at least 1
   * @param number the number of the generation in its job
   * @param ranks the number of ranks
   * @param origin where its state came from
   * @param step the steps that were completed before it
   * @param epoch the epoch in which it began
   * @param samples the samples of that epoch that were used before it
   * @param began when it began
   * @param state the folder of the state with which it began
   */
  public Generation {
    requireNonNull(origin, "origin");
    requireNonNull(began, "began");
    requireNonNull(state, "state");
  }

  /**
   * Returns the name by which it is run again.
   *
   * @return run and number, such as {@code 1.3}
   */
  public String name() {
    return run + "." + number;
  }
}
