// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares with what PyTorch's own classes delivered; see golden/python_samplers.py. */
class PythonGoldenTest {
  private static final int CASES = 3471;
  private static final long BITS_27 = 1L << 27;

  private static List<String> lines = List.of();

  @BeforeAll
  static void readTheGoldenFile() throws IOException {
    try (InputStream in =
            requireNonNull(
                PythonGoldenTest.class.getResourceAsStream("/golden/python_samplers.txt"));
        BufferedReader reader = new BufferedReader(new InputStreamReader(in, UTF_8))) {
      lines = reader.lines().toList();
    }
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
  void everyPassEqualsPyTorchs(String name, int cases) {
    List<Pass> passes =
        lines.stream().filter(line -> line.startsWith(name + " ")).map(Pass::new).toList();
    assertThat(passes).hasSize(cases);
    passes.forEach(Pass::check);
  }

  /** One line of the file. */
  private static final class Pass {
    private final String line;
    private final Map<String, String> fields = new HashMap<>();

    Pass(String line) {
      this.line = line;
      for (String word : line.split(" ", -1)) {
        int sign = word.indexOf('=');
        fields.put(sign < 0 ? "name" : word.substring(0, sign), word.substring(sign + 1));
      }
    }

    private String text(String key) {
      return fields.getOrDefault(key, "");
    }

    private long number(String key) {
      return Long.parseLong(fields.getOrDefault(key, "0"));
    }

    private String[] words(String key) {
      return text(key).isEmpty() ? new String[0] : text(key).split(",", -1);
    }

    private long[] list(String key) {
      if (text(key).startsWith("spread:")) {
        return IntStream.range(0, generated(key)).mapToLong(i -> 7919L * i).toArray();
      }
      return Arrays.stream(words(key)).mapToLong(Long::parseLong).toArray();
    }

    private double[] decimals(String key) {
      if (text(key).startsWith("ramp:")) {
        IntToDoubleFunction ramp = i -> 7919L * i % 1009 / 8.0;
        return IntStream.range(0, generated(key)).mapToDouble(ramp).toArray();
      }
      return Arrays.stream(words(key)).mapToDouble(Double::parseDouble).toArray();
    }

    private int generated(String key) {
      return Integer.parseInt(text(key).substring(text(key).indexOf(':') + 1));
    }

    void check() {
      long[] all =
          switch (text("name")) {
            case "randperm" -> randperm();
            case "randint" -> randint();
            case "multinomial" -> multinomial();
            case "random_split" -> split();
            case "BatchSampler" -> batches();
            default -> Cursors.indices(sampler(), number("epoch") + number("pass"));
          };
      long[] head = list("head");
      long[] tail = list("tail");
      assertThat(all).as(line).hasSize((int) number("count"));
      assertThat(Arrays.copyOf(all, head.length)).as(line).isEqualTo(head);
      assertThat(Arrays.copyOfRange(all, all.length - tail.length, all.length))
          .as(line)
          .isEqualTo(tail);
      assertThat(Cursors.hash(all)).as(line).isEqualTo(number("hash"));
    }

    private long[] randperm() {
      int n = (int) number("n");
      if (fields.containsKey("first")) {
        return Cursors.indices(partOfPermutation(n), 0);
      }
      int[] values = new int[n];
      Mt19937 generator = new Mt19937(number("seed"));
      Randperm.write(generator, n, values, 0, n);
      checkAfter(generator, Randperm.outputs(n));
      return Arrays.stream(values).asLongStream().toArray();
    }

    /** A few draws need no list of the dataset, for which there is not enough memory here. */
    private Sampler partOfPermutation(int n) {
      return new PythonRandomSampler(n, Replacement.WITHOUT, number("first"), number("seed"));
    }

    private long[] randint() {
      long high = number("high");
      Mt19937 generator = new Mt19937(number("seed"));
      long[] values =
          LongStream.generate(() -> Randint.next(generator, high)).limit(number("count")).toArray();
      checkAfter(generator, number("count") * Randint.outputs(high));
      return values;
    }

    private long[] multinomial() {
      double[] weights = decimals("weights");
      Replacement replacement = replacement();
      int[] values = new int[(int) number("draws")];
      Mt19937 generator = new Mt19937(number("seed"));
      long outputs = Multinomial.outputs(replacement, values.length, weights.length);
      if (Multinomial.drawsFromSums(replacement, values.length)) {
        Multinomial.accumulate(weights);
        Multinomial.withReplacement(weights, values, generator);
      } else {
        Multinomial.withoutReplacement(weights, values, generator);
      }
      checkAfter(generator, outputs);
      return Arrays.stream(values).asLongStream().toArray();
    }

    private void checkAfter(Mt19937 generator, long outputs) {
      Mt19937 skipped = new Mt19937(number("seed"));
      skipped.skip(outputs);
      assertThat(generator.nextUnsigned() % BITS_27).as(line).isEqualTo(number("after"));
      assertThat(skipped.nextUnsigned() % BITS_27).as(line).isEqualTo(number("after"));
    }

    private long[] split() {
      List<long[]> parts =
          fields.containsKey("lengths")
              ? RandomSplit.byLengths(list("lengths"), number("seed"))
              : RandomSplit.byFractions(number("n"), decimals("fractions"), number("seed"));
      assertThat(parts.stream().mapToLong(part -> part.length).toArray())
          .as(line)
          .isEqualTo(list("parts"));
      return parts.stream().flatMapToLong(LongStream::of).toArray();
    }

    private long[] batches() {
      int batchSize = (int) number("batchSize");
      FixedBatches plan = new FixedBatches(sampler(), batchSize, lastBatch());
      long[] all = new long[(int) number("count")];
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
      assertThat(done).as(line).isEqualTo(all.length);
      assertThat(full + "+" + rest).as(line).isEqualTo(text("batches"));
      assertThat(plan.batches(0)).as(line).isEqualTo(full + (rest == 0 ? 0 : 1));
      return all;
    }

    private Batching.LastBatch lastBatch() {
      return number("drop_last") == 1 ? Batching.LastBatch.DROP : Batching.LastBatch.KEEP;
    }

    private Replacement replacement() {
      return number("replacement") == 1 ? Replacement.WITH : Replacement.WITHOUT;
    }

    private Sampler sampler() {
      long n = number("n");
      long seed = number("seed");
      return switch (text("name")) {
        case "SequentialSampler" -> new SequentialSampler(n);
        case "RandomSampler" -> new PythonRandomSampler(n, replacement(), number("draws"), seed);
        case "SubsetRandomSampler" -> new SubsetRandomSampler(list("indices"), seed);
        case "WeightedRandomSampler" ->
            new WeightedRandomSampler(decimals("weights"), number("draws"), replacement(), seed);
        case "DistributedSampler" -> distributed();
        case "BatchSampler" ->
            fields.containsKey("worldSize")
                ? new PythonDistributedSampler(n, (int) number("worldSize"), (int) number("rank"))
                    .withSeed(seed)
                : new PythonRandomSampler(n, seed);
        default -> throw new AssertionError(line);
      };
    }

    private Sampler distributed() {
      return new PythonDistributedSampler(
          number("n"),
          (int) number("worldSize"),
          (int) number("rank"),
          number("shuffle") == 1,
          number("seed"),
          number("drop_last") == 1 ? Tail.DROP : Tail.PAD);
    }
  }
}
