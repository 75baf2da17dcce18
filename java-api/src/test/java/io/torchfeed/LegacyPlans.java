// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.balance.BaguaLoadBalancingBatchSampler;
import io.torchfeed.sampler.balance.BaguaLoadBalancingSampler;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.balance.LoadBalancingDistributedSampler;
import io.torchfeed.sampler.balance.StepGrouping;
import io.torchfeed.sampler.balance.TokenBudgetBatchSampler;
import io.torchfeed.sampler.order.BlockedSampler;
import io.torchfeed.sampler.order.ClassBalancedSampler;
import io.torchfeed.sampler.order.ConcatenatedSampler;
import io.torchfeed.sampler.order.DistributedBatchSampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.ListSampler;
import io.torchfeed.sampler.order.MixedSampler;
import io.torchfeed.sampler.order.RepeatedSampler;
import io.torchfeed.sampler.order.ShardShuffleSampler;
import io.torchfeed.sampler.order.ShardedSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.order.WeightedSampler;
import io.torchfeed.sampler.order.WeightedShuffleSampler;
import io.torchfeed.sampler.python.PythonDistributedSampler;
import io.torchfeed.sampler.python.PythonRandomSampler;
import io.torchfeed.sampler.python.SubsetRandomSampler;
import io.torchfeed.sampler.python.WeightedRandomSampler;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import io.torchfeed.sampler.torch.DistributedSequentialSampler;
import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.util.Arrays;
import java.util.List;

/** The plans of golden/states_9842441.txt by name. */
final class LegacyPlans {
  /** A size that is a multiple of neither 2 nor 3. */
  private static final int SIZE = 23;

  /** The rows of the datasets that are loaded. */
  static final int ROWS = 47;

  static final long SEED = 42;

  private static final double[] WEIGHTS = weights();
  private static final int[] LABELS = labels();
  private static final long[] SHARDS = {5, 1, 7, 4, 0, 3, 6, 2};

  private static final Costs COSTS = Costs.computed(ROWS, i -> 1 + i * 37 % 20);

  /** Costs in three clusters. */
  private static final Costs CLUSTERED =
      Costs.computed(ROWS, i -> i % 12 == 5 ? 500 + i : i % 5 == 3 ? 90 : 2 + i % 3);

  private LegacyPlans() {}

  /** Returns a plan of indices; plans that are not divided ignore world size and rank. */
  static Sampler sampler(String name, Part part) {
    return switch (name) {
      // libtorch's
      case "sequential" -> SequentialSampler.of(SIZE);
      case "sequential-in-java" -> SequentialSampler.of(SIZE).inJava();
      case "random" -> RandomSampler.of(SIZE, SEED);
      case "random-in-java" -> RandomSampler.of(SIZE, SEED).inJava();
      case "distributed-sequential" -> DistributedSequentialSampler.of(SIZE, part);
      case "distributed-sequential-drop" ->
          DistributedSequentialSampler.of(SIZE, part).withTail(Tail.DROP);
      case "distributed-sequential-in-java" -> DistributedSequentialSampler.of(SIZE, part).inJava();
      case "distributed-random" -> DistributedRandomSampler.of(SIZE, part);
      case "distributed-random-drop" -> DistributedRandomSampler.of(SIZE, part).withTail(Tail.DROP);
      case "distributed-random-in-java" -> DistributedRandomSampler.of(SIZE, part).inJava();
      // Python's
      case "python-random" -> PythonRandomSampler.of(SIZE, SEED);
      case "python-random-with-replacement" -> PythonRandomSampler.of(SIZE, true, 30, SEED);
      case "python-random-in-laps" -> PythonRandomSampler.of(SIZE, false, 30, SEED);
      case "python-subset" -> SubsetRandomSampler.of(thirds(), SEED);
      case "python-weighted" -> WeightedRandomSampler.of(WEIGHTS, SIZE, SEED);
      case "python-weighted-without-replacement" ->
          WeightedRandomSampler.of(WEIGHTS, 12, false, SEED);
      case "python-distributed" -> python(part);
      case "python-distributed-drop" -> python(part).withTail(Tail.DROP);
      case "python-distributed-uneven" -> python(part).withTail(Tail.UNEVEN);
      case "python-distributed-in-order" -> PythonDistributedSampler.inOrder(SIZE, part);
      // torchfeed's, of a whole dataset
      case "weighted" -> WeightedSampler.of(WEIGHTS, SIZE, SEED);
      case "weighted-floats" -> WeightedSampler.ofFloats(new float[] {1, 0, 2.5f, 4}, 15, SEED);
      case "weighted-shuffle" -> WeightedShuffleSampler.of(WEIGHTS, SEED);
      case "weighted-shuffle-cut" -> WeightedShuffleSampler.of(WEIGHTS, 9, SEED);
      case "class-cycling" -> cycling().build();
      case "class-cycling-reshuffled" -> cycling().reshuffleEachCycle(true).build();
      case "class-cycling-ignoring" -> cycling().ignore(2).samples(31).build();
      case "class-cycling-longest-class" -> cycling().coverLongestClass(true).build();
      case "class-cycling-distinct" -> cycling().distinctInBatch(6).build();
      case "class-cycling-distinct-reshuffled" ->
          cycling().distinctInBatch(6).reshuffleEachCycle(true).build();
      case "class-cycling-sets" ->
          ClassBalancedSampler.ofClassSets(4, new int[][] {{0, 1}, {}, {2}, {3, 0}, {1}, {1, 2, 3}})
              .samples(20)
              .seed(SEED)
              .build();
      case "concatenated" -> ConcatenatedSampler.of(sources());
      case "mixed-until-first" -> MixedSampler.untilFirstExhausted(sources(), 7, 2, 1);
      case "mixed-until-all" -> MixedSampler.untilAllExhausted(sources(), 7, 2, 1);
      case "mixed-of-length" -> MixedSampler.ofLength(29, sources(), 3, 2, 2);
      case "repeated" -> RepeatedSampler.of(ShuffledSampler.of(9, SEED), 25);
      case "repeated-endless" -> RepeatedSampler.endless(ShuffledSampler.of(9, SEED));
      case "list" -> ListSampler.inOrder(thirds());
      case "list-shuffled" -> ListSampler.shuffled(SEED, thirds());
      case "shard-shuffle" -> shards();
      case "shard-shuffle-in-order" -> ShardShuffleSampler.inOrder(SHARDS);
      // torchfeed's, divided
      case "shuffled" -> shuffled(part, Tail.PAD);
      case "shuffled-drop" -> shuffled(part, Tail.DROP);
      case "shuffled-uneven" -> shuffled(part, Tail.UNEVEN);
      case "strided-sequential" -> StridedSampler.of(SequentialSampler.of(SIZE), part);
      case "strided-random-drop" ->
          StridedSampler.of(RandomSampler.of(SIZE, SEED), part).withTail(Tail.DROP);
      case "strided-list-uneven" ->
          StridedSampler.of(ListSampler.shuffled(SEED, thirds()), part).withTail(Tail.UNEVEN);
      case "strided-subset" -> StridedSampler.of(SubsetRandomSampler.of(thirds(), SEED), part);
      case "strided-weighted" -> StridedSampler.of(WeightedSampler.of(WEIGHTS, SIZE, SEED), part);
      case "strided-weighted-shuffle" ->
          StridedSampler.of(WeightedShuffleSampler.of(WEIGHTS, SEED), part);
      case "strided-class-cycling" -> StridedSampler.of(cycling().build(), part);
      case "strided-concatenated" -> StridedSampler.of(ConcatenatedSampler.of(sources()), part);
      case "strided-mixed" ->
          StridedSampler.of(MixedSampler.untilAllExhausted(sources(), 7, 2, 1), part);
      case "strided-repeated" ->
          StridedSampler.of(RepeatedSampler.of(RandomSampler.of(9, SEED), 25), part)
              .withTail(Tail.DROP);
      case "strided-shard-shuffle" -> StridedSampler.of(shards(), part);
      case "blocked" -> blocked(part);
      case "blocked-drop" -> blocked(part).withTail(Tail.DROP);
      case "blocked-uneven" -> blocked(part).withTail(Tail.UNEVEN);
      case "blocked-contiguous" -> BlockedSampler.contiguous(shards(), part);
      case "sharded-strided" -> ShardedSampler.strided(shards(), part);
      case "sharded-strided-drop" -> ShardedSampler.strided(shards(), part).withTail(Tail.DROP);
      case "sharded-strided-uneven" -> ShardedSampler.strided(shards(), part).withTail(Tail.UNEVEN);
      case "sharded-blocked" -> ShardedSampler.blocked(shards(), 2, part);
      case "sharded-contiguous" -> ShardedSampler.contiguous(shards(), part).withTail(Tail.UNEVEN);
      case "balanced-bucketed" -> balanced(COSTS, part).build();
      case "balanced-bucketed-drop" -> balanced(COSTS, part).tail(Tail.DROP).build();
      case "balanced-bucketed-clustered" -> balanced(CLUSTERED, part).build();
      case "balanced-bucketed-windows" -> balanced(COSTS, part).window(2).jitter(0).build();
      case "balanced-mixed" -> mixed(COSTS, part).build();
      case "balanced-mixed-drop" -> mixed(COSTS, part).tail(Tail.DROP).build();
      case "balanced-mixed-clustered" -> mixed(CLUSTERED, part).build();
      case "balanced-mixed-windows" ->
          mixed(CLUSTERED, part).window(3).jitter(0.25).tail(Tail.DROP).build();
      case "balanced-karmarkar-karp" -> balanced(COSTS, part).build();
      case "balanced-mixed-karmarkar-karp" -> mixed(CLUSTERED, part).build();
      // Bagua's
      case "bagua" -> bagua(part);
      case "bagua-drop" -> bagua(part).withTail(Tail.DROP);
      case "bagua-in-order" -> bagua(part).inOrder();
      case "bagua-with-noise" -> bagua(part).withLevel(0.5);
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** Returns a plan of batches; plans that are not divided ignore world size and rank. */
  static BatchSampler batches(String name, Part part) {
    return switch (name) {
      case "fixed-sequential" -> FixedSizeBatchSampler.of(SequentialSampler.of(SIZE), 4);
      case "fixed-random-drop-last" ->
          FixedSizeBatchSampler.of(RandomSampler.of(SIZE, SEED), 4).withDropLast(true);
      case "fixed-shuffled" -> FixedSizeBatchSampler.of(shuffled(part, Tail.PAD), 4);
      case "fixed-shuffled-by-3" -> FixedSizeBatchSampler.of(shuffled(part, Tail.PAD), 3);
      case "fixed-shuffled-drop" ->
          FixedSizeBatchSampler.of(shuffled(part, Tail.DROP), 4).withDropLast(true);
      case "fixed-shuffled-uneven" -> FixedSizeBatchSampler.of(shuffled(part, Tail.UNEVEN), 4);
      case "fixed-python" -> FixedSizeBatchSampler.of(python(part), 4);
      case "fixed-balanced" -> FixedSizeBatchSampler.of(balanced(COSTS, part).build(), 3);
      case "whole-batches" -> wholeBatches(part);
      case "whole-batches-drop" -> wholeBatches(part).withTail(Tail.DROP);
      case "whole-batches-of-class-cycling" ->
          DistributedBatchSampler.ofWholeBatches(cycling().build(), 4, part);
      case "global-batches" -> globalBatches(part);
      case "global-batches-drop" -> globalBatches(part).withTail(Tail.DROP);
      case "global-batches-of-random" ->
          DistributedBatchSampler.ofGlobalBatches(RandomSampler.of(SIZE, SEED), 6, part);
      case "token-budget" -> tokenBudget(COSTS, 60, part);
      case "token-budget-most-samples" -> tokenBudget(COSTS, 60, part).withMaxSamples(3);
      case "token-budget-clustered" -> tokenBudget(CLUSTERED, 600, part);
      case "bagua-batches" -> BaguaLoadBalancingBatchSampler.bySumOfCosts(bagua(part), COSTS, 40);
      case "bagua-batches-drop" ->
          BaguaLoadBalancingBatchSampler.bySumOfCosts(bagua(part), COSTS, 40).withTail(Tail.DROP);
      case "bagua-batches-of-a-function" ->
          BaguaLoadBalancingBatchSampler.of(
                  bagua(part).withLevel(0.25), "pairs", LegacyPlans::pairs)
              .withMaxBatchSize(2);
      default -> throw new IllegalArgumentException(name);
    };
  }

  private static double[] weights() {
    double[] weights = new double[SIZE];
    Arrays.setAll(weights, i -> i % 7 == 3 ? 0 : 0.5 + i % 5);
    return weights;
  }

  private static int[] labels() {
    int[] labels = new int[SIZE];
    Arrays.setAll(labels, i -> i % 9 == 0 ? 3 : i % 4 == 1 ? 2 : i % 2);
    return labels;
  }

  private static long[] thirds() {
    long[] indices = new long[17];
    Arrays.setAll(indices, i -> 3L * i);
    return indices;
  }

  private static List<MixedSampler.Source> sources() {
    return MixedSampler.Source.ofDatasets(
        List.of(ShuffledSampler.of(12, SEED), SequentialSampler.of(5), RandomSampler.of(4, SEED)),
        12,
        5,
        4);
  }

  /** Class 4 has no samples. */
  private static ClassBalancedSampler.Builder cycling() {
    return ClassBalancedSampler.ofLabels(5, LABELS).seed(SEED);
  }

  private static ShardShuffleSampler shards() {
    return ShardShuffleSampler.of(SHARDS, 2, SEED);
  }

  private static ShuffledSampler shuffled(Part part, Tail tail) {
    return ShuffledSampler.of(SIZE, part, SEED).withTail(tail);
  }

  private static PythonDistributedSampler python(Part part) {
    return PythonDistributedSampler.of(SIZE, part).withSeed(SEED);
  }

  private static BlockedSampler blocked(Part part) {
    return BlockedSampler.of(ShuffledSampler.of(SIZE, SEED), 3, part);
  }

  private static LoadBalancingDistributedSampler.Builder balanced(Costs costs, Part part) {
    return LoadBalancingDistributedSampler.builder(costs, part, 3)
        .grouping(StepGrouping.BUCKETED)
        .seed(SEED);
  }

  private static LoadBalancingDistributedSampler.Builder mixed(Costs costs, Part part) {
    return LoadBalancingDistributedSampler.builder(costs, part, 3)
        .grouping(StepGrouping.MIXED)
        .seed(SEED);
  }

  private static BaguaLoadBalancingSampler bagua(Part part) {
    return BaguaLoadBalancingSampler.of(COSTS, part).withSeed(SEED);
  }

  private static int[] pairs(long[] indices) {
    int[] sizes = new int[(indices.length + 1) / 2];
    Arrays.fill(sizes, 2);
    sizes[sizes.length - 1] = indices.length - 2 * (sizes.length - 1);
    return sizes;
  }

  private static DistributedBatchSampler wholeBatches(Part part) {
    return DistributedBatchSampler.ofWholeBatches(ShuffledSampler.of(SIZE, SEED), 4, part);
  }

  private static DistributedBatchSampler globalBatches(Part part) {
    return DistributedBatchSampler.ofGlobalBatches(ShuffledSampler.of(SIZE, SEED), 6, part);
  }

  private static TokenBudgetBatchSampler tokenBudget(Costs costs, long budget, Part part) {
    return TokenBudgetBatchSampler.of(costs, budget, part).withSeed(SEED);
  }
}
