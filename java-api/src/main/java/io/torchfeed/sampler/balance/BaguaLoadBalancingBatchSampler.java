// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.HeapMemory;
import io.torchfeed.internal.Quotes;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.EpochProgress;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A sampler that forms the batches of Bagua's {@code LoadBalancingDistributedBatchSampler}: a
 * function cuts each rank's epoch into batches of varying size, and all ranks end up with the same
 * number of batches. {@link TokenBudgetBatchSampler} is the better plan, since it also balances the
 * batches of each step.
 *
 * <pre>{@code
 * BaguaLoadBalancingSampler samples = BaguaLoadBalancingSampler.of(lengths, Part.rank(0).of(2));
 * BatchSampler batches = BaguaLoadBalancingBatchSampler.bySumOfCosts(samples, lengths, 16);
 * }</pre>
 *
 * <p>With {@link Tail#PAD}, the default and Bagua's {@code drop_last=False}, every rank has as many
 * batches as the rank with the most; with {@link Tail#DROP}, as many as the rank with the fewest.
 *
 * <p>Source: BaguaSys/bagua 3e480d29, {@code load_balancing_data_loader.py}. These defects of it
 * are corrected here:
 *
 * <ul>
 *   <li>Padding appends the head of a rank's batches once, so a rank with fewer than half of the
 *       batches stays short and training hangs. Here its batches repeat from the first on until
 *       there are enough: 2 batches become b0 b1 b0 b1 b0 if another rank has 5.
 *   <li>Dropping lengthens lists: if the shortest rank has 3 batches, it turns 5 batches into 8.
 *       Here the first 3 are kept.
 *   <li>Batches depend only on the epoch of the batch sampler; setting the epoch of the inner
 *       sampler has no effect. Here there is one epoch, the argument of {@link #epoch}.
 *   <li>Repeated batches look like any others. Here their samples are {@link BatchCursor#isPadding
 *       flagged}, like the padding of the sampler itself.
 * </ul>
 *
 * <p>Every rank computes the batches of all ranks when the first cursor of an epoch is opened or
 * {@link #batches} is called: one sort of the dataset, and one call of the batch function for each
 * rank. They are cached until another epoch is requested, and take 4 bytes per sample of the
 * dataset and 4 per batch of the rank. {@link io.torchfeed.sampler.Seekable#seek} takes constant
 * time. Immutable except for this cache; any number of threads may open cursors.
 */
public final class BaguaLoadBalancingBatchSampler
    implements BatchSampler, DividedPlan<BatchCursor> {
  private static final int MAX_NAME_LENGTH = 128;

  private final BaguaLoadBalancingSampler sampler;
  private final String name;
  private final BatchFunction function;
  private final Tail tail;
  private final int maxBatchSize;
  private final AtomicReference<@Nullable BaguaBatches> latest = new AtomicReference<>();

  private BaguaLoadBalancingBatchSampler(
      BaguaLoadBalancingSampler sampler,
      String name,
      BatchFunction function,
      Tail tail,
      int maxBatchSize) {
    this.sampler = sampler;
    this.name = name;
    this.function = function;
    this.tail = tail;
    this.maxBatchSize = maxBatchSize;
    Checks.requireFewRanks(sampler.part().worldSize());
    if (sampler.tail() == Tail.DROP) {
      throw new IllegalArgumentException(
          "the sampler must have Tail.PAD, got DROP; drop batches instead, using withTail");
    }
    if (tail == Tail.UNEVEN) {
      throw new IllegalArgumentException(
          "tail must be PAD or DROP, since ranks have equal numbers of batches, got UNEVEN");
    }
  }

  /**
   * Creates a plan of padded batches cut by any rule. A batch may be as large as the rank's epoch,
   * unless {@link #withMaxBatchSize} sets a lower limit.
   *
   * @param sampler the rank's samples, with {@link Tail#PAD}
   * @param name identifies the batch function in {@link #parameters}: it must change whenever the
   *     function, or anything the function depends on, changes; 1 to 128 characters, not blank,
   *     without vertical bar
   * @param function cuts each rank's epoch into batches
   * @return a new plan
   * @throws IllegalArgumentException if the sampler has {@link Tail#DROP} or more than 65536 ranks,
   *     or {@code name} is invalid
   */
  public static BaguaLoadBalancingBatchSampler of(
      BaguaLoadBalancingSampler sampler, String name, BatchFunction function) {
    requireNonNull(name, "name");
    requireNonNull(sampler, "sampler");
    requireNonNull(function, "function");
    if (name.isBlank() || name.contains("|") || name.length() > MAX_NAME_LENGTH) {
      throw new IllegalArgumentException(
          "name must have 1 to %d characters, none of them '|', and not be blank, got \"%s\""
              .formatted(MAX_NAME_LENGTH, Quotes.shortened(name)));
    }
    return new BaguaLoadBalancingBatchSampler(
        sampler, name, function, Tail.PAD, (int) Math.max(1, sampler.size()));
  }

  /**
   * Creates a plan of padded batches, each of which ends before the sum of its costs would exceed a
   * limit.
   *
   * @param sampler the rank's samples, with {@link Tail#PAD}
   * @param costs the cost that each sample adds to its batch; often the costs of the sampler
   * @param limit the maximum sum of a batch, at least 1
   * @return a new plan
   * @throws IllegalArgumentException if the sampler has {@link Tail#DROP} or more than 65536 ranks,
   *     {@code costs} and the sampler's dataset differ in size, the limit is less than 1, or a
   *     single sample exceeds it
   */
  public static BaguaLoadBalancingBatchSampler bySumOfCosts(
      BaguaLoadBalancingSampler sampler, Costs costs, long limit) {
    requireNonNull(costs, "costs");
    requireNonNull(sampler, "sampler");
    if (costs.size() != sampler.costs().size()) {
      throw new IllegalArgumentException(
          "costs must have one cost for each of the %d samples of the dataset, got %d"
              .formatted(sampler.costs().size(), costs.size()));
    }
    CostSumBatches function = new CostSumBatches(costs, limit);
    BaguaLoadBalancingBatchSampler plan = of(sampler, function.name(), function);
    return plan.withMaxBatchSize(Math.min(plan.maxBatchSize, function.largest()));
  }

  /**
   * Returns this plan with another tail.
   *
   * @param tail {@link Tail#PAD} or {@link Tail#DROP}
   * @return the new plan
   * @throws IllegalArgumentException if {@code tail} is {@link Tail#UNEVEN}
   */
  public BaguaLoadBalancingBatchSampler withTail(Tail tail) {
    requireNonNull(tail, "tail");
    return new BaguaLoadBalancingBatchSampler(sampler, name, function, tail, maxBatchSize);
  }

  /**
   * Returns this plan with a limit on the batch size, which the batch function must observe and
   * {@link #maxBatchSize} reports; buffers sized for the largest batch become smaller.
   *
   * @param maxBatchSize number of indices, at least 1
   * @return the new plan
   * @throws IllegalArgumentException if {@code maxBatchSize} is less than 1
   */
  public BaguaLoadBalancingBatchSampler withMaxBatchSize(int maxBatchSize) {
    if (maxBatchSize < 1) {
      throw new IllegalArgumentException("maxBatchSize must be at least 1, got " + maxBatchSize);
    }
    return new BaguaLoadBalancingBatchSampler(sampler, name, function, tail, maxBatchSize);
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalStateException if the batch function returns a size that is less than 1 or more
   *     than {@link #maxBatchSize}, or sizes whose sum is not the number of indices
   */
  @Override
  public long batches(long epoch) {
    return planned(epoch).count();
  }

  @Override
  public int maxBatchSize() {
    return maxBatchSize;
  }

  /**
   * {@inheritDoc}
   *
   * <p>The remaining samples are sorted and divided again, like the sampler's, and then cut into
   * batches.
   *
   * @throws IllegalStateException if the batch function returns a size that is less than 1 or more
   *     than {@link #maxBatchSize}, or sizes whose sum is not the number of indices
   */
  @Override
  public BatchCursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    return new BaguaBatchCursor(
        this, EpochProgress.rest(new Division(epoch), before, part().worldSize()));
  }

  @Override
  public Part part() {
    return sampler.part();
  }

  @Override
  public int maxWorldSize() {
    return Checks.FEW_RANKS;
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

  @Override
  public Tail tail() {
    return tail;
  }

  private BaguaBatches planned(long epoch) {
    Checks.requireEpoch(epoch);
    BaguaBatches known = latest.get();
    if (known == null || known.epoch() != epoch) {
      known = whole(epoch, part().worldSize());
      latest.set(known);
    }
    return known;
  }

  private BaguaBatches whole(long epoch, int ranks) {
    return HeapMemory.planned(
        this, () -> new BaguaBatches(this, epoch, new BaguaChunks(sampler, epoch, ranks)));
  }

  /** The division of an epoch, and of the rest of it, into batches. */
  private final class Division implements EpochProgress.Division<BaguaBatches> {
    private final long epoch;

    Division(long epoch) {
      this.epoch = epoch;
    }

    @Override
    public BaguaBatches begin(int ranks) {
      return ranks == part().worldSize() ? planned(epoch) : whole(epoch, ranks);
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

  /**
   * A rule that cuts a list of indices into batches.
   *
   * <p>The result must depend on the argument alone: every rank calls the function for the lists of
   * all ranks and relies on equal results everywhere. Any number of threads may call it.
   */
  @FunctionalInterface
  public interface BatchFunction {
    /**
     * Returns the sizes of the batches, which take the indices in order: the first batch takes the
     * first {@code sizes[0]} indices, and so on.
     *
     * @param indices the indices of one rank's epoch, at least one; a copy, which may be changed
     * @return the size of each batch, at least 1; their sum is the number of indices
     */
    int[] sizes(long[] indices);
  }
}
