// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The batches of Bagua's {@code LoadBalancingDistributedBatchSampler}: a function cuts each rank's
 * epoch into batches of varying size, and the ranks are brought to the same number of them. {@link
 * TokenBudgetBatchSampler} is the better plan, since it also makes the batches of a step alike.
 *
 * <pre>{@code
 * BaguaLoadBalancingSampler samples = new BaguaLoadBalancingSampler(lengths, 2, 0);
 * BatchSampler batches = BaguaLoadBalancingBatchSampler.bySumOfCosts(samples, lengths, 16);
 * }</pre>
 *
 * <p>With {@link Tail#PAD}, the default and Bagua's {@code drop_last=False}, every rank has as many
 * batches as the rank that has most; with {@link Tail#DROP} as many as the one that has fewest.
 *
 * <p>Source: BaguaSys/bagua 3e480d29, {@code load_balancing_data_loader.py}. Defects of it that are
 * corrected here:
 *
 * <ul>
 *   <li>Padding appends the head of a rank's batches once, so that a rank with fewer than half of
 *       the batches stays short and training hangs. Here they repeat from the first on until there
 *       are enough: 2 batches become b0 b1 b0 b1 b0 where another rank has 5.
 *   <li>Dropping lengthens lists: of 5 batches where the fewest are 3 it makes 8. Here the first 3
 *       stay.
 *   <li>Batches follow the epoch of the batch sampler only, and setting the epoch of the sampler
 *       inside changes nothing. Here there is one epoch, the argument of {@link #epoch}.
 *   <li>Repeated batches look like others. Here their samples are {@link BatchCursor#isPadding
 *       flagged}, as those are that pad the sampler itself.
 * </ul>
 *
 * <p>Every rank forms the batches of all ranks when an epoch's first cursor is opened (or {@link
 * #batches} is asked): one sort of the dataset, and one call of the batch function for each rank.
 * They are kept until another epoch is asked for, in 4 bytes for each sample of the dataset and 4
 * for each batch of the rank. {@link BatchCursor#seek} takes constant time. Immutable otherwise;
 * any number of threads may open cursors.
 */
public final class BaguaLoadBalancingBatchSampler implements BatchSampler {
  private static final int LONGEST_NAME = 128;

  private final BaguaLoadBalancingSampler sampler;
  private final String name;
  private final BatchFunction function;
  private final Tail tail;
  private final int largestBatch;
  private final AtomicReference<@Nullable BaguaBatches> latest = new AtomicReference<>();

  private BaguaLoadBalancingBatchSampler(
      BaguaLoadBalancingSampler sampler,
      String name,
      BatchFunction function,
      Tail tail,
      int largestBatch) {
    this.sampler = sampler;
    this.name = name;
    this.function = function;
    this.tail = tail;
    this.largestBatch = largestBatch;
    if (sampler.tail() == Tail.DROP) {
      throw new IllegalArgumentException(
          "the sampler must have Tail.PAD, got DROP; drop batches instead, by withTail");
    }
    if (tail == Tail.UNEVEN) {
      throw new IllegalArgumentException(
          "tail must be PAD or DROP, since ranks have equally many batches, got UNEVEN");
    }
  }

  /**
   * Padded batches by any rule. A batch may be as large as the rank's epoch, unless {@link
   * #withLargestBatch} says less.
   *
   * @param sampler the rank's samples, with {@link Tail#PAD}
   * @param name stands for the batch function in {@link #parameters}: it must change whenever the
   *     function or what it depends on does; not blank, without vertical bar
   * @param function cuts each rank's epoch into batches
   * @return a new plan
   * @throws IllegalArgumentException if the sampler drops, or the name is none
   */
  public static BaguaLoadBalancingBatchSampler of(
      BaguaLoadBalancingSampler sampler, String name, BatchFunction function) {
    requireNonNull(function, "function");
    if (name.isBlank() || name.contains("|") || name.length() > LONGEST_NAME) {
      throw new IllegalArgumentException(
          "name must have 1 to %d characters, none of them '|', and not be blank, got \"%s\""
              .formatted(LONGEST_NAME, name));
    }
    return new BaguaLoadBalancingBatchSampler(
        sampler, name, function, Tail.PAD, (int) Math.max(1, sampler.size()));
  }

  /**
   * Padded batches that end before the sum of their costs would exceed a limit.
   *
   * @param sampler the rank's samples, with {@link Tail#PAD}
   * @param costs what each sample adds to its batch; often those of the sampler
   * @param limit the largest sum of a batch, at least 1
   * @return a new plan
   * @throws IllegalArgumentException if the sampler drops, the sampler's dataset is not as large as
   *     {@code costs}, the limit is less than 1, or a sample alone exceeds it
   */
  public static BaguaLoadBalancingBatchSampler bySumOfCosts(
      BaguaLoadBalancingSampler sampler, Costs costs, long limit) {
    if (costs.size() != sampler.costs().size()) {
      throw new IllegalArgumentException(
          "costs must be as many as the samples of the dataset, %d, got %d"
              .formatted(sampler.costs().size(), costs.size()));
    }
    CostSumBatches function = new CostSumBatches(costs, limit);
    BaguaLoadBalancingBatchSampler plan = of(sampler, function.name(), function);
    return plan.withLargestBatch(Math.min(plan.largestBatch, function.largest()));
  }

  /**
   * This plan with another tail.
   *
   * @param tail {@link Tail#PAD} or {@link Tail#DROP}
   * @return the new plan
   * @throws IllegalArgumentException if {@code tail} is {@link Tail#UNEVEN}
   */
  public BaguaLoadBalancingBatchSampler withTail(Tail tail) {
    requireNonNull(tail, "tail");
    return new BaguaLoadBalancingBatchSampler(sampler, name, function, tail, largestBatch);
  }

  /**
   * This plan with a limit of the size of a batch, which the batch function keeps and {@link
   * #largestBatch} tells; what is made for the largest batch is smaller then.
   *
   * @param largestBatch number of indices, at least 1
   * @return the new plan
   * @throws IllegalArgumentException if it is less than 1
   */
  public BaguaLoadBalancingBatchSampler withLargestBatch(int largestBatch) {
    if (largestBatch < 1) {
      throw new IllegalArgumentException("largestBatch must be at least 1, got " + largestBatch);
    }
    return new BaguaLoadBalancingBatchSampler(sampler, name, function, tail, largestBatch);
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalStateException if the batch function gives a size that is less than 1 or more
   *     than {@link #largestBatch}, or sizes whose sum is not the number of indices
   */
  @Override
  public long batches(long epoch) {
    return planned(epoch).count();
  }

  @Override
  public int largestBatch() {
    return largestBatch;
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalStateException if the batch function gives a size that is less than 1 or more
   *     than {@link #largestBatch}, or sizes whose sum is not the number of indices
   */
  @Override
  public BatchCursor epoch(long epoch) {
    return resume(epoch, List.of());
  }

  /**
   * {@inheritDoc}
   *
   * <p>The samples that are left are sorted and divided anew, as those of the sampler are, and cut
   * into batches then.
   *
   * @throws IllegalStateException if the batch function gives a size that is less than 1 or more
   *     than {@link #largestBatch}, or sizes whose sum is not the number of indices
   */
  @Override
  public BatchCursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    EpochProgress<BaguaBatches> progress =
        EpochProgress.of(new Division(epoch), delivered, worldSize());
    BatchCursor cursor = new BaguaBatchCursor(this, progress.part());
    cursor.seek(progress.delivered());
    return cursor;
  }

  @Override
  public int worldSize() {
    return sampler.worldSize();
  }

  @Override
  public int rank() {
    return sampler.rank();
  }

  @Override
  public PlanParameters order() {
    return inBatches(sampler.order());
  }

  @Override
  public PlanParameters parameters() {
    return inBatches(sampler.parameters());
  }

  private PlanParameters inBatches(PlanParameters samples) {
    return new PlanParameters("bagua.LoadBalancingDistributedBatchSampler", samples.values())
        .with("batchFunction", name)
        .with("batchTail", tail);
  }

  @Override
  public String toString() {
    return "BaguaLoadBalancingBatchSampler" + parameters().values();
  }

  String name() {
    return name;
  }

  BatchFunction function() {
    return function;
  }

  Tail tail() {
    return tail;
  }

  private BaguaBatches planned(long epoch) {
    Arguments.requireEpoch(epoch);
    BaguaBatches known = latest.get();
    if (known == null || known.epoch() != epoch) {
      known = whole(epoch, worldSize());
      latest.set(known);
    }
    return known;
  }

  private BaguaBatches whole(long epoch, int ranks) {
    return HeapMemory.planned(
        this, () -> new BaguaBatches(this, epoch, new BaguaChunks(sampler, epoch, ranks)));
  }

  /** The batches of an epoch, and of what is left of it. */
  private final class Division implements EpochProgress.Division<BaguaBatches> {
    private final long epoch;

    Division(long epoch) {
      this.epoch = epoch;
    }

    @Override
    public BaguaBatches begin(int ranks) {
      return ranks == worldSize() ? planned(epoch) : whole(epoch, ranks);
    }

    @Override
    public BaguaBatches divideRest(BaguaBatches part, long delivered, int ranks) {
      return HeapMemory.planned(
          BaguaLoadBalancingBatchSampler.this, () -> part.after(delivered, ranks));
    }

    @Override
    public long size(BaguaBatches part) {
      return part.count();
    }
  }
}
