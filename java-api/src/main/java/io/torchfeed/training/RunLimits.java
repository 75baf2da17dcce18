// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.training.TrainingLoop.Outcome;
import io.torchfeed.training.steps.EpochBatches;
import java.util.OptionalLong;

/** The end of a loop by its epochs, its steps, or its metric, the same on all ranks. */
record RunLimits(LoopSettings<?> options) {
  private static final String NOTHING_LEFT =
      "%s after %%d steps, in %%s; for more, %s, or to begin again, another folder of checkpoints";

  private Progress progress() {
    return options.progress;
  }

  private boolean areEpochsComplete() {
    return progress().epoch() >= options.epochs();
  }

  private boolean areStepsComplete() {
    return progress().step() >= options.maxSteps();
  }

  private boolean isOver() {
    return options.evaluations().map(Evaluations::isOver).orElse(false);
  }

  /** Returns whether no step follows. The end of an epoch may, if this was its last one. */
  boolean isReached() {
    return areStepsComplete() || isOver();
  }

  /** Returns whether neither a step nor the end of an epoch follows. */
  boolean isAtEnd() {
    return areEpochsComplete() || (isReached() && progress().samples() == 0);
  }

  /** Returns how many steps follow, unless the data is a stream, which does not know its end. */
  OptionalLong stepsLeft(EpochBatches batches) {
    long here = batches.stepsLeft();
    if (here < 0) {
      return OptionalLong.empty();
    }
    long ofEpoch = batches.steps();
    long epochs = options.epochs() - batches.epoch() - 1;
    long bySteps = options.maxSteps() - progress().step();
    boolean isEndless = ofEpoch > 0 && epochs > (Long.MAX_VALUE - here) / ofEpoch;
    return OptionalLong.of(isEndless ? bySteps : Math.min(bySteps, here + epochs * ofEpoch));
  }

  /** Returns how a training has ended of which nothing is left. */
  Outcome outcome() {
    return areEpochsComplete() || areStepsComplete() ? Outcome.COMPLETED : Outcome.STOPPED_EARLY;
  }

  /** Returns why the training ends early. */
  String whyOver() {
    return options.evaluations().map(Evaluations::whyOver).orElse("");
  }

  /** Returns the text for a checkpoint of which nothing is left; else an empty one. */
  String nothingLeft() {
    if (areEpochsComplete()) {
      return NOTHING_LEFT.formatted("all epochs were complete", "set more epochs");
    }
    if (areStepsComplete()) {
      return NOTHING_LEFT.formatted("all steps were complete", "raise maxSteps");
    }
    return isOver()
        ? NOTHING_LEFT.formatted("the training had stopped early", "raise the patience")
        : "";
  }

  /**
   * Checks that an epoch that was begun at its start, and is at its end, had a step.
   *
   * @param before the number of steps at its start
   * @throws IllegalStateException if it had none
   */
  void requireSteps(long epoch, long before) {
    if (progress().step() == before) {
      throw new IllegalStateException(
          ("epoch %d has no batch, so there is nothing to train on: the data has no samples, or"
                  + " fewer than a batch and dropLast leaves them out")
              .formatted(epoch));
    }
  }
}
