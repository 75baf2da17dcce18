// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.order.BackAndForth;
import io.torchfeed.sampler.order.ListSampler;
import io.torchfeed.sampler.order.ShardShuffleSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.python.PythonDistributedSampler;
import io.torchfeed.sampler.python.PythonGenerator;
import io.torchfeed.sampler.python.SubsetRandomSampler;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import io.torchfeed.sampler.torch.DistributedSequentialSampler;
import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * The plans that {@code SamplerContractTest} checks. A new sampler takes one line: in {@link
 * #WHOLE} if it orders a whole dataset, in {@link #OWN_DIVISIONS} if it divides the dataset itself.
 */
public final class SamplerFamilies {
  private static final Set<Tail> EVEN = Set.of(Tail.PAD, Tail.DROP);
  private static final Set<Tail> ANY = Set.of(Tail.values());

  private SamplerFamilies() {}

  /** Plans of whole datasets, each sample once; also tested divided by stride. */
  public static final List<Whole> WHOLE =
      List.of(
          new Whole("RandomSampler", RandomSampler::of),
          new Whole("RandomSampler in Java", (n, seed) -> RandomSampler.of(n, seed).inJava()),
          new Whole("SequentialSampler", (n, seed) -> SequentialSampler.of(n)),
          new Whole("SequentialSampler in Java", (n, seed) -> SequentialSampler.of(n).inJava()),
          new Whole(
              "DistributedRandomSampler of one rank",
              (n, seed) -> DistributedRandomSampler.of(n, Part.whole())),
          new Whole("ShuffledSampler of one rank", ShuffledSampler::of),
          new Whole("SubsetRandomSampler", (n, seed) -> SubsetRandomSampler.of(range(n), seed)),
          new Whole(
              "SubsetRandomSampler of a loader",
              (n, seed) ->
                  SubsetRandomSampler.of(range(n), seed)
                      .withGeneratorUse(PythonGenerator.Use.LOADER)),
          new Whole("ListSampler", (n, seed) -> ListSampler.shuffled(seed, range(n))),
          new Whole(
              "ShardShuffleSampler",
              (n, seed) -> ShardShuffleSampler.of(new long[] {n / 3, n - n / 3}, 1, seed)));

  /** Plans that divide a dataset over ranks by their own rule, each sample once. */
  static final List<Divided> OWN_DIVISIONS =
      List.of(
          new Divided("DistributedRandomSampler", EVEN, SamplerFamilies::random),
          new Divided(
              "DistributedRandomSampler in Java",
              EVEN,
              (n, part, tail, seed) -> random(n, part, tail, seed).inJava()),
          new Divided("DistributedSequentialSampler", EVEN, SamplerFamilies::sequential),
          new Divided(
              "DistributedSequentialSampler in Java",
              EVEN,
              (n, part, tail, seed) -> sequential(n, part, tail, seed).inJava()),
          new Divided(
              "PythonDistributedSampler",
              ANY,
              (n, part, tail, seed) ->
                  PythonDistributedSampler.of(n, part).withSeed(seed).withTail(tail)),
          new Divided(
              "a user's DividedSampler",
              EVEN,
              (n, part, tail, seed) -> new BackAndForth(ShuffledSampler.of(n, seed), part, tail)),
          new Divided(
              "ShuffledSampler",
              ANY,
              (n, part, tail, seed) -> ShuffledSampler.of(n, part, seed).withTail(tail)));

  /** All divided plans. */
  public static final List<Divided> DIVIDED =
      Stream.concat(OWN_DIVISIONS.stream(), WHOLE.stream().map(SamplerFamilies::byStride)).toList();

  /** All rules of division, each with the order that opens fastest. */
  public static final List<Divided> DIVISIONS =
      Stream.concat(
              OWN_DIVISIONS.stream(),
              Stream.of(
                  byStride(new Whole("order", (n, seed) -> SequentialSampler.of(n).inJava()))))
          .toList();

  private static Divided byStride(Whole whole) {
    return new Divided(
        whole.name() + " dealt by stride",
        ANY,
        (n, part, tail, seed) -> StridedSampler.of(whole.plans().of(n, seed), part).withTail(tail));
  }

  private static long[] range(long n) {
    return LongStream.range(0, n).toArray();
  }

  private static DistributedRandomSampler random(long n, Part part, Tail tail, long seed) {
    return DistributedRandomSampler.of(n, part).withTail(tail);
  }

  private static DistributedSequentialSampler sequential(long n, Part part, Tail tail, long seed) {
    return DistributedSequentialSampler.of(n, part).withTail(tail);
  }

  /** One kind of plan of a whole dataset. */
  public record Whole(String name, WholePlans plans) {
    @Override
    public String toString() {
      return name;
    }
  }

  public interface WholePlans {
    Sampler of(long datasetSize, long seed);
  }

  /** One kind of plan that divides a dataset. */
  public record Divided(String name, Set<Tail> tails, DividedPlans plans) {
    public Sampler plan(long datasetSize, Part part, Tail tail, long seed) {
      return plans.of(datasetSize, part, tail, seed);
    }

    @Override
    public String toString() {
      return name;
    }
  }

  interface DividedPlans {
    Sampler of(long datasetSize, Part part, Tail tail, long seed);
  }
}
