// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.GoldenLine;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Compares with the epochs of PyTorch's own DataLoader; see golden/python_loaders.py. */
class PythonLoaderGoldenTest {
  private static final int LINES = 3009;
  private static final int BATCH = 64;

  private static final List<String> FILE = GoldenLine.read("python_loaders.txt");

  @Test
  void theHeaderNamesProgramVersionAndNumberOfLines() {
    assertThat(FILE.get(0))
        .startsWith("# program ")
        .contains("torch 2.10.0")
        .endsWith("lines " + LINES);
    assertThat(FILE).hasSize(1 + LINES);
  }

  private static List<GoldenLine> lines(String word) {
    return FILE.stream().filter(line -> line.contains(word)).map(GoldenLine::parse).toList();
  }

  @ParameterizedTest
  @EnumSource
  void everyEpochEqualsPyTorch(PythonGenerator.Use use) {
    List<GoldenLine> passes = lines(" use=" + use + " ");
    assertThat(passes).hasSizeGreaterThan(450);
    passes.forEach(pass -> pass.check(indices(pass, use)));
  }

  private static long[] indices(GoldenLine pass, PythonGenerator.Use use) {
    long[] all = Cursors.indices(sampler(pass, use), pass.number("pass"));
    boolean dropped = pass.dropLast();
    return dropped ? Arrays.copyOf(all, all.length - all.length % BATCH) : all;
  }

  private static Sampler sampler(GoldenLine pass, PythonGenerator.Use use) {
    int n = pass.integer("n");
    long seed = pass.number("seed");
    long draws = pass.number("draws");
    return switch (pass.name()) {
      case "RandomSampler" ->
          PythonRandomSampler.of(n, seed)
              .withReplacement(pass.replacement())
              .withNumSamples(draws)
              .withGeneratorUse(use);
      case "SubsetRandomSampler" ->
          SubsetRandomSampler.of(LongStream.range(0, n).map(i -> 7919 * i).toArray(), seed)
              .withGeneratorUse(use);
      case "WeightedRandomSampler" ->
          WeightedRandomSampler.of(weights(n), draws, seed)
              .withReplacement(pass.replacement())
              .withGeneratorUse(use);
      default -> throw new AssertionError(pass.line());
    };
  }

  private static double[] weights(int n) {
    return IntStream.range(0, n).mapToDouble(i -> 7919L * i % 1009 / 8.0 + 1).toArray();
  }

  @Test
  void negativeEpochsAreRefusedWithTheEquivalentSeed() {
    List<GoldenLine> passes = lines("DistributedSampler ");
    assertThat(passes).hasSize(9);
    for (GoldenLine pass : passes) {
      long seed = pass.number("seed");
      long epoch = pass.number("epoch");
      var plan = PythonDistributedSampler.of(pass.number("n"), new Part(3, 1)).withSeed(seed);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.epoch(epoch))
          .withMessageContaining("epoch must be at least 0, got " + epoch)
          .withMessageEndingWith("epoch 0 with seed " + (seed + epoch));
      pass.check(Cursors.indices(plan.withSeed(seed + epoch), 0));
    }
  }
}
