// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.PlanChecks;
import io.torchfeed.sampler.cursor.PositionCursor;
import io.torchfeed.sampler.cursor.Stride;
import java.util.List;

/**
 * A base for divisions of your own: step k of W ranks takes the positions kW, …, kW + W - 1 of any
 * order, and a function tells which of them a rank gets. Such a plan can be resumed, even with
 * another number of ranks, and compared between ranks like torchfeed's own plans.
 *
 * <pre>{@code
 * final class BackAndForth extends DividedSampler {
 *   BackAndForth(Sampler dataset, Part part) {
 *     super("backAndForth", dataset, part, Tail.PAD);
 *   }
 *
 *   @Override
 *   protected int place(long step, int rank, int worldSize) {
 *     return step % 2 == 0 ? rank : worldSize - 1 - rank;
 *   }
 * }
 * }</pre>
 *
 * <p>A rule with parameters of its own overrides {@link #order} and adds them to {@code
 * super.order()}. Subclasses are immutable; any number of threads may open cursors and read them.
 * Memory and time are the order's. {@link StridedSampler} is the rule without a function of its
 * own, and faster.
 */
public abstract class DividedSampler implements Sampler, DividedPlan<Cursor> {
  private final String rule;
  private final Sampler dataset;
  private final long datasetSize; // cached, since plans may be nested
  private final Part part;
  private final Tail tail;

  /**
   * Creates a plan.
   *
   * @param rule the name of the rule, part of saved states: it never changes
   * @param dataset the plan of the whole, undivided order, of at most 2<sup>62</sup> indices
   * @param part the part of this rank
   * @param tail the rule for an order that does not divide evenly among the ranks
   * @throws IllegalArgumentException if an argument is out of range, or {@code dataset} is already
   *     one rank's plan
   */
  protected DividedSampler(String rule, Sampler dataset, Part part, Tail tail) {
    this.rule = requireNonNull(rule, "rule");
    this.dataset = PlanChecks.requireDivisible(dataset, "dataset");
    this.datasetSize = dataset.size();
    Checks.requireDatasetSize(datasetSize);
    this.part = requireNonNull(part, "part");
    this.tail = requireNonNull(tail, "tail");
  }

  /**
   * Returns which position of a step a rank gets: a function of its arguments and of {@link #order}
   * alone, with a different value for each rank of a step.
   *
   * @param step the number of the step, at least 0, counted from where this number of ranks began
   * @param rank the rank, in [0, worldSize - 1]
   * @param worldSize the number of ranks, at least 1
   * @return the position in the step, in [0, worldSize - 1]; another one ends the read with an
   *     {@link IllegalStateException}
   */
  protected abstract int place(long step, int rank, int worldSize);

  @Override
  public PlanParameters order() {
    return PlanChecks.dividedOrder(dataset, rule, "tail").with("tail", tail);
  }

  @Override
  public final PlanParameters parameters() {
    return DividedPlan.super.parameters();
  }

  @Override
  public final Part part() {
    return part;
  }

  @Override
  public final Tail tail() {
    return tail;
  }

  @Override
  public final long size() {
    return sizeOf(datasetSize);
  }

  @Override
  public final Cursor epoch(long epoch) {
    return DividedPlan.super.epoch(epoch);
  }

  @Override
  public final Cursor resume(long epoch, List<EpochSegment> delivered) {
    requireNonNull(delivered, "delivered");
    return DividedPlan.super.resume(epoch, delivered);
  }

  @Override
  public final Cursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    long first = Stride.prefix(datasetSize, tail, before);
    return new Steps(first, sizeOf(datasetSize - first), PositionCursor.over(dataset, epoch));
  }

  @Override
  public final long[] probe(long epoch, int worldSize) {
    return dataset.probe(epoch, 1);
  }

  @Override
  public final DatasetSize madeFor() {
    return dataset.madeFor();
  }

  @Override
  public final int depth() {
    return 1 + dataset.depth();
  }

  @Override
  public String toString() {
    return PlanChecks.described(this);
  }

  /** Returns the number of positions that this rank gets of a list of them. */
  private long sizeOf(long positions) {
    long whole = positions / part.worldSize();
    long more = positions % part.worldSize();
    return switch (tail) {
      case PAD -> more == 0 ? whole : whole + 1;
      case DROP -> whole;
      case UNEVEN -> more > 0 && checkedPlace(whole) < more ? whole + 1 : whole;
    };
  }

  private int checkedPlace(long step) {
    int place = place(step, part.rank(), part.worldSize());
    if (place < 0 || place >= part.worldSize()) {
      throw new IllegalStateException(
          "place(%d, %d, %d) of %s must be in [0, %d], got %d"
              .formatted(step, part.rank(), part.worldSize(), this, part.worldSize() - 1, place));
    }
    return place;
  }

  /** A cursor over this rank's positions from a position of the order on. */
  private final class Steps extends PositionCursor {
    private final long first;
    private final PositionCursor order;

    Steps(long first, long size, PositionCursor order) {
      super(DividedSampler.this, size);
      this.first = first;
      this.order = order;
    }

    /** Returns the position in the order; past its end for padding. */
    private long inOrder(long step) {
      return first + step * part.worldSize() + checkedPlace(step);
    }

    @Override
    public void read(long start, long stride, long[] into, int from, int count) {
      for (int i = 0; i < count; i++) {
        order.read(inOrder(start + i * stride) % datasetSize, 1, into, from + i, 1);
      }
    }

    @Override
    public boolean paddingAt(long position) {
      long at = inOrder(position);
      return at >= datasetSize || order.paddingAt(at);
    }

    @Override
    public long longest() {
      return Stride.sizeOfLongestRank(datasetSize - first, part.worldSize(), tail);
    }

    @Override
    public void release() {
      order.close();
    }
  }
}
