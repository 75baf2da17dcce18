// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * The endless stream of a plan: its epochs 0, 1, 2, … one after the other, each with its own order,
 * cut into epochs of a given length, or not cut at all.
 *
 * <p>Position p of epoch e is position x = e·samples + p of the stream, and that is position x
 * modulo n of epoch x divided by n of the plan of n indices. So no sample is left out at an epoch's
 * end, whatever its length, and any place of the stream is found at once: {@link Cursor#seek} costs
 * what opening one epoch of the plan costs. A cursor holds one epoch of the plan at a time.
 *
 * @param plan the plan that is repeated, of at least one index
 * @param samples number of indices in an epoch, in [0, 2<sup>62</sup>]
 */
public record RepeatedSampler(Sampler plan, long samples) implements Sampler {
  /**
   * A plan.
   *
   * @param plan the plan that is repeated, of at least one index
   * @param samples number of indices in an epoch, in [0, 2<sup>62</sup>]; steps times batch size
   *     times world size where an epoch is a number of steps
   * @throws IllegalArgumentException if {@code samples} is outside of its range, or {@code plan} is
   *     empty or one rank's plan
   */
  public RepeatedSampler {
    Orders.requireWhole(plan, "plan");
    Orders.requireSamples(samples);
    if (plan.size() < 1) {
      throw new IllegalArgumentException(
          "plan must have at least 1 index to be repeated, got an empty one: " + plan);
    }
  }

  /**
   * A plan whose epoch 0 does not end: 2<sup>62</sup> indices.
   *
   * @param plan the plan that is repeated, of at least one index
   * @return the plan
   * @throws IllegalArgumentException if {@code plan} is empty or one rank's plan
   */
  public static RepeatedSampler endless(Sampler plan) {
    return new RepeatedSampler(plan, Orders.LONGEST);
  }

  @Override
  public long size() {
    return samples;
  }

  /**
   * Opens a cursor at the start of an epoch. The caller owns the cursor and closes it.
   *
   * @param epoch the number of the epoch, at least 0, and so low that the epoch ends before
   *     position 2<sup>63</sup> of the stream
   * @throws IllegalArgumentException if {@code epoch} is outside of its range
   */
  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
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

  /** A part of the stream. */
  private static final class StreamCursor extends PositionCursor {
    private final SourceCursor stream;
    private final long first;

    StreamCursor(RepeatedSampler plan, long first) {
      super(plan, plan.samples);
      this.stream = new SourceCursor(plan.plan);
      this.first = first;
    }

    @Override
    void read(long start, long stride, long[] into, int from, int count) {
      stream.read(0, first + start, stride, into, from, count);
    }

    @Override
    boolean paddingAt(long position) {
      return stream.paddingAt(0, first + position);
    }

    @Override
    void release() {
      stream.close();
    }
  }
}
