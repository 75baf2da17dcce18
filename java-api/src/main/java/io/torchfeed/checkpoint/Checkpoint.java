// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A checkpoint that has been loaded. */
public final class Checkpoint {
  /**
   * How good the state of a checkpoint is.
   *
   * @param value the number; NaN is worse than any other
   * @param isLoss whether a lower number is better, else a higher one
   */
  public record Metric(double value, boolean isLoss) {
    /**
     * Returns a metric that is better if it is lower.
     *
     * @param value the number
     * @return the metric
     */
    public static Metric ofLoss(double value) {
      return new Metric(value, true);
    }

    /**
     * Returns a metric that is better if it is higher, as an accuracy.
     *
     * @param value the number
     * @return the metric
     */
    public static Metric ofScore(double value) {
      return new Metric(value, false);
    }

    /**
     * Returns whether this metric is better than another one.
     *
     * @param other of the same kind
     * @return false if they are equal
     * @throws IllegalArgumentException if the other is of another kind
     */
    public boolean isBetterThan(Metric other) {
      if (requireNonNull(other, "other").isLoss != isLoss) {
        throw new IllegalArgumentException(
            "metrics must be of one kind to be compared, got %s and %s".formatted(this, other));
      }
      return Double.compare(key(), other.key()) < 0;
    }

    private String kind() {
      return isLoss ? "loss" : "score";
    }

    private double key() {
      return isLoss ? value : -value; // NaN is the largest
    }
  }

  private final Path folder;
  private final long step;
  private final int ranks;
  private final @Nullable Metric metric;
  private final List<CheckpointException> skipped;

  Checkpoint(Path folder, long step, Manifest manifest, List<CheckpointException> skipped) {
    this.folder = folder;
    this.step = step;
    ranks = manifest.ranks();
    metric = manifest.metric();
    this.skipped = List.copyOf(skipped);
  }

  /**
   * Returns the folder of the checkpoint.
   *
   * @return the folder with its files
   */
  public Path folder() {
    return folder;
  }

  /**
   * Returns the step after which it was taken.
   *
   * @return the number given to {@link Checkpoints#save}
   */
  public long step() {
    return step;
  }

  /**
   * Returns the number of ranks that have written it together.
   *
   * @return 1 if it was saved by one process
   */
  public int ranks() {
    return ranks;
  }

  /**
   * Returns the metric of its state.
   *
   * @return the value of {@link TrainingState.Builder#metric} when it was saved
   */
  public Optional<Metric> metric() {
    return Optional.ofNullable(metric);
  }

  /**
   * Returns the faults of newer or better checkpoints, in place of which this one was loaded; worth
   * a warning. A rank knows only those that it has found itself: where each reads files of its own,
   * all of them should log theirs.
   *
   * @return a failure for each, in the order in which they were tried; usually empty
   */
  public List<CheckpointException> skipped() {
    return skipped;
  }

  /** Returns the step, the metric if there is one, and the folder. */
  @Override
  public String toString() {
    String ofMetric =
        metric == null ? "" : " with the %s %s".formatted(metric.kind(), metric.value());
    return "checkpoint after %d steps%s in %s".formatted(step, ofMetric, folder);
  }
}
