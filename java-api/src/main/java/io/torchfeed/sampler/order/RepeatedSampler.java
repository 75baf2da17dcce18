// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.PlanChecks;
import io.torchfeed.sampler.cursor.PositionCursor;

/**
 * The endless stream of a plan's epochs 0, 1, 2, …, each in its own order, cut into epochs of a
 * given length or left uncut.
 *
 * <p>Position p of epoch e is position x = e·samples + p of the stream: for a plan of n indices,
 * position x modulo n of its epoch x divided by n. No sample is left out at the end of an epoch,
 * whatever its length, and any position of the stream is found directly: {@link
 * io.torchfeed.sampler.Seekable#seek} costs as much as opening one epoch of the plan. A cursor
 * holds one epoch of the plan at a time.
 *
 * @param plan the plan to repeat, of at least one index
 * @param samples number of indices in an epoch, in [0, 2<sup>62</sup>]
 */
public record RepeatedSampler(Sampler plan, long samples) implements Sampler {
  /**
   * Creates a plan.
   *
   * @param plan the plan to repeat, of at least one index
   * @param samples number of indices in an epoch, in [0, 2<sup>62</sup>]; steps times batch size
   *     times world size if an epoch is a number of steps
   * @throws IllegalArgumentException if {@code samples} is out of range, or {@code plan} is empty
   *     or one rank's plan
   */
  public RepeatedSampler {
    PlanChecks.requireWhole(plan, "plan");
    PlanChecks.requireSamples(samples);
    if (plan.size() < 1) {
      throw new IllegalArgumentException(
          "plan must have at least 1 index to be repeated, got an empty one: " + plan);
    }
  }

  /**
   * Creates a plan.
   *
   * @param plan the plan to repeat, of at least one index
   * @param samples number of indices in an epoch, in [0, 2<sup>62</sup>]; steps times batch size
   *     times world size if an epoch is a number of steps
   * @return the plan
   * @throws IllegalArgumentException if {@code samples} is out of range, or {@code plan} is empty
   *     or one rank's plan
   */
  public static RepeatedSampler of(Sampler plan, long samples) {
    return new RepeatedSampler(plan, samples);
  }

  /**
   * Returns a plan whose epoch 0 is in effect endless: 2<sup>62</sup> indices.
   *
   * @param plan the plan to repeat, of at least one index
   * @return the plan
   * @throws IllegalArgumentException if {@code plan} is empty or one rank's plan
   */
  public static RepeatedSampler endless(Sampler plan) {
    return new RepeatedSampler(plan, PlanChecks.MAX_SIZE);
  }

  @Override
  public DatasetSize madeFor() {
    return plan.madeFor();
  }

  @Override
  public int depth() {
    return 1 + plan.depth();
  }

  @Override
  public long size() {
    return samples;
  }

  /**
   * Opens a cursor at the start of an epoch. The caller owns the cursor and closes it.
   *
   * @param epoch the number of the epoch, at least 0 and low enough that the epoch ends before
   *     position 2<sup>63</sup> of the stream
   * @throws IllegalArgumentException if {@code epoch} is out of range
   */
  @Override
  public Cursor epoch(long epoch) {
    Checks.requireEpoch(epoch);
    long most = samples == 0 ? Long.MAX_VALUE : Long.MAX_VALUE / samples - 1;
    if (epoch > most) {
      throw new IllegalArgumentException(
          "epoch must be at most %d with epochs of %d samples, got %d"
              .formatted(most, samples, epoch));
    }
    return new StreamCursor(this, epoch * samples);
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("torchfeed.RepeatedSampler")
        .with("plan", plan.digest())
        .with("samples", samples);
  }

  /** A cursor over a part of the stream. */
  private static final class StreamCursor extends PositionCursor {
    private final SourceCursor stream;
    private final long first;

    StreamCursor(RepeatedSampler plan, long first) {
      super(plan, plan.samples);
      this.stream = new SourceCursor(plan.plan);
      this.first = first;
    }

    @Override
    public void read(long start, long stride, long[] into, int from, int count) {
      stream.read(0, first + start, stride, into, from, count);
    }

    @Override
    public boolean paddingAt(long position) {
      return stream.paddingAt(0, first + position);
    }

    @Override
    public void release() {
      stream.close();
    }
  }
}
