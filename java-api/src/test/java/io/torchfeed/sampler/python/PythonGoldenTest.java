// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.internal.Mt19937;
import io.torchfeed.internal.Randint;
import io.torchfeed.internal.Randperm;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.split.RandomSplit;
import io.torchfeed.sampler.torch.SequentialSampler;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.GoldenLine;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares with PyTorch's own classes; see golden/python_samplers.py. */
class PythonGoldenTest {
  private static final int CASES = 3471;
  private static final long BITS_27 = 1L << 27;

  private static List<String> lines = List.of();

  @BeforeAll
  static void readTheGoldenFile() {
    lines = GoldenLine.read("python_samplers.txt");
  }

  @Test
  void theHeaderNamesProgramVersionAndNumberOfCases() {
    assertThat(lines.get(0))
        .startsWith("# program ")
        .contains("torch 2.10.0")
        .endsWith("cases " + CASES);
    assertThat(lines).hasSize(1 + CASES);
  }

  @ParameterizedTest
  @CsvSource({
    "BatchSampler, 80",
    "DistributedSampler, 1812",
    "RandomSampler, 616",
    "SequentialSampler, 4",
    "SubsetRandomSampler, 72",
    "WeightedRandomSampler, 240",
    "multinomial, 210",
    "randint, 55",
    "random_split, 188",
    "randperm, 194",
  })
  void everyPassEqualsPyTorch(String name, int cases) {
    List<GoldenLine> passes =
        lines.stream().filter(line -> line.startsWith(name + " ")).map(GoldenLine::parse).toList();
    assertThat(passes).hasSize(cases);
    passes.forEach(pass -> pass.check(indices(pass)));
  }

  private static long[] indices(GoldenLine pass) {
    return switch (pass.name()) {
      case "randperm" -> randperm(pass);
      case "randint" -> randint(pass);
      case "multinomial" -> multinomial(pass);
      case "random_split" -> split(pass);
      case "BatchSampler" -> batches(pass);
      default -> Cursors.indices(sampler(pass), pass.number("epoch") + pass.number("pass"));
    };
  }

  private static long[] randperm(GoldenLine pass) {
    int n = pass.integer("n");
    if (pass.has("first")) {
      // A few draws need no list of the dataset, which would not fit in memory here.
      return Cursors.indices(
          PythonRandomSampler.of(n, pass.number("seed")).withNumSamples(pass.number("first")), 0);
    }
    PythonGenerator generator = PythonGenerator.of(pass.number("seed"));
    int[] values = generator.randperm(n);
    checkAfter(pass, generator, Randperm.outputs(n));
    return Arrays.stream(values).asLongStream().toArray();
  }

  private static long[] randint(GoldenLine pass) {
    long high = pass.number("high");
    PythonGenerator generator = PythonGenerator.of(pass.number("seed"));
    long[] values = generator.randint(high, pass.integer("count"));
    checkAfter(pass, generator, pass.number("count") * Randint.outputs(high));
    return values;
  }

  private static long[] multinomial(GoldenLine pass) {
    double[] weights = pass.decimals("weights");
    PythonGenerator generator = PythonGenerator.of(pass.number("seed"));
    int[] values = generator.multinomial(weights, pass.integer("draws"), pass.replacement());
    checkAfter(
        pass, generator, Multinomial.outputs(pass.replacement(), values.length, weights.length));
    return Arrays.stream(values).asLongStream().toArray();
  }

  private static void checkAfter(GoldenLine pass, PythonGenerator generator, long outputs) {
    Mt19937 skipped = new Mt19937(pass.number("seed"));
    skipped.skip(outputs);
    assertThat(generator.randint(BITS_27, 1)).as(pass.line()).containsExactly(pass.number("after"));
    assertThat(skipped.nextUnsigned() % BITS_27).as(pass.line()).isEqualTo(pass.number("after"));
  }

  private static long[] split(GoldenLine pass) {
    long seed = pass.number("seed");
    List<long[]> parts =
        pass.has("lengths")
            ? RandomSplit.byLengths(pass.list("lengths"), seed)
            : RandomSplit.byFractions(pass.number("n"), pass.decimals("fractions"), seed);
    assertThat(parts.stream().mapToLong(part -> part.length).toArray())
        .as(pass.line())
        .isEqualTo(pass.list("parts"));
    return parts.stream().flatMapToLong(LongStream::of).toArray();
  }

  private static long[] batches(GoldenLine pass) {
    int batchSize = pass.integer("batchSize");
    FixedSizeBatchSampler plan =
        FixedSizeBatchSampler.of(sampler(pass), batchSize).withDropLast(pass.dropLast());
    long[] all = new long[pass.integer("count")];
    int done = 0;
    int full = 0;
    int rest = 0;
    try (BatchCursor cursor = plan.epoch(0)) {
      for (int size = cursor.next(all, 0); size > 0; size = cursor.next(all, done)) {
        done += size;
        full += size == batchSize ? 1 : 0;
        rest = size == batchSize ? 0 : size;
      }
    }
    assertThat(done).as(pass.line()).isEqualTo(all.length);
    assertThat(full + "+" + rest).as(pass.line()).isEqualTo(pass.text("batches"));
    assertThat(plan.batches(0)).as(pass.line()).isEqualTo(full + (rest == 0 ? 0 : 1));
    return all;
  }

  private static Sampler sampler(GoldenLine pass) {
    long n = pass.number("n");
    long seed = pass.number("seed");
    long draws = pass.number("draws");
    return switch (pass.name()) {
      case "SequentialSampler" -> SequentialSampler.of(n);
      case "RandomSampler" ->
          new PythonRandomSampler(n, pass.replacement(), draws, seed, PythonGenerator.Use.SAMPLER);
      case "SubsetRandomSampler" -> SubsetRandomSampler.of(pass.list("indices"), seed);
      case "WeightedRandomSampler" ->
          WeightedRandomSampler.of(pass.decimals("weights"), draws, seed)
              .withReplacement(pass.replacement());
      case "DistributedSampler" -> distributed(pass);
      case "BatchSampler" ->
          pass.has("worldSize")
              ? PythonDistributedSampler.of(
                      n, new Part(pass.integer("worldSize"), pass.integer("rank")))
                  .withSeed(seed)
              : PythonRandomSampler.of(n, seed);
      default -> throw new AssertionError(pass.line());
    };
  }

  private static Sampler distributed(GoldenLine pass) {
    Part part = new Part(pass.integer("worldSize"), pass.integer("rank"));
    PythonDistributedSampler plan =
        pass.number("shuffle") == 1
            ? PythonDistributedSampler.of(pass.number("n"), part)
            : PythonDistributedSampler.inOrder(pass.number("n"), part);
    return plan.withSeed(pass.number("seed"))
        .withTail(pass.number("drop_last") == 1 ? Tail.DROP : Tail.PAD);
  }
}
