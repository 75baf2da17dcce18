// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.examples.common.CommandException;

/**
 * The settings that must not change in a resumed run.
 *
 * @param seed the run's seed
 * @param ranks number of processes
 * @param batchSize samples per rank and step
 * @param sampler digest of the sampler's plan
 */
record RunPlan(long seed, int ranks, int batchSize, String sampler) {
  /**
   * Adds the settings to a state, before all that depends on them. Loading other ones throws a
   * {@link CommandException} that names the first difference.
   */
  void addTo(TrainingState.Builder state) {
    state
        .number("seed", () -> seed, then -> require("--seed", then, seed))
        .number("ranks", () -> ranks, then -> require("--ranks", then, ranks))
        .number("batch-size", () -> batchSize, then -> require("--batch-size", then, batchSize))
        .text("sampler", () -> sampler, then -> require("the sampler's plan", then, sampler));
  }

  private static void require(String field, Object then, Object now) {
    if (!then.toString().equals(now.toString())) {
      throw CommandException.wrongUse(
          "Cannot resume: "
              + field
              + " was "
              + then
              + " in the checkpoint and is "
              + now
              + " now; pass the value of the checkpoint, or start again without --resume",
          null);
    }
  }
}
