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
          new Whole("RandomSampler", RandomSampler::new),
          new Whole("RandomSampler in Java", (n, seed) -> new RandomSampler(n, seed).inJava()),
          new Whole("SequentialSampler", (n, seed) -> new SequentialSampler(n)),
          new Whole("SequentialSampler in Java", (n, seed) -> new SequentialSampler(n).inJava()),
          new Whole(
              "DistributedRandomSampler of one rank",
              (n, seed) -> new DistributedRandomSampler(n, Part.whole())),
          new Whole("ShuffledSampler of one rank", ShuffledSampler::new),
          new Whole("SubsetRandomSampler", (n, seed) -> new SubsetRandomSampler(range(n), seed)),
          new Whole(
              "SubsetRandomSampler of a loader",
              (n, seed) ->
                  new SubsetRandomSampler(range(n), seed)
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
              (n, part, tail, seed) -> new PythonDistributedSampler(n, part, true, seed, tail)),
          new Divided(
              "a user's DividedSampler",
              EVEN,
              (n, part, tail, seed) -> new BackAndForth(new ShuffledSampler(n, seed), part, tail)),
          new Divided(
              "ShuffledSampler",
              ANY,
              (n, part, tail, seed) -> new ShuffledSampler(n, part, seed, tail)));

  /** All divided plans. */
  public static final List<Divided> DIVIDED =
      Stream.concat(OWN_DIVISIONS.stream(), WHOLE.stream().map(SamplerFamilies::byStride)).toList();

  /** All rules of division, each with the order that opens fastest. */
  public static final List<Divided> DIVISIONS =
      Stream.concat(
              OWN_DIVISIONS.stream(),
              Stream.of(
                  byStride(new Whole("order", (n, seed) -> new SequentialSampler(n).inJava()))))
          .toList();

  private static Divided byStride(Whole whole) {
    return new Divided(
        whole.name() + " dealt by stride",
        ANY,
        (n, part, tail, seed) -> new StridedSampler(whole.plans().of(n, seed), part, tail));
  }

  private static long[] range(long n) {
    return LongStream.range(0, n).toArray();
  }

  private static DistributedRandomSampler random(long n, Part part, Tail tail, long seed) {
    return new DistributedRandomSampler(n, part, tail);
  }

  private static DistributedSequentialSampler sequential(long n, Part part, Tail tail, long seed) {
    return new DistributedSequentialSampler(n, part, tail);
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
