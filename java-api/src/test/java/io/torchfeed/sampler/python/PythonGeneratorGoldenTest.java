// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.testing.GoldenLine;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares with torch.Generator, call by call; see golden/python_generator.py. */
class PythonGeneratorGoldenTest {
  private static final int LINES = 2318;
  private static final int RUNS = 59;

  private static final List<String> FILE = GoldenLine.read("python_generator.txt");

  @Test
  void theHeaderNamesProgramVersionAndNumberOfLines() {
    assertThat(FILE.get(0))
        .startsWith("# program ")
        .contains("torch 2.10.0")
        .endsWith("lines " + LINES);
    assertThat(FILE).hasSize(1 + LINES);
    assertThat(runs()).hasSize(RUNS);
  }

  /** The calls on one generator; the first one creates it. */
  private record Run(int number, List<GoldenLine> calls) {
    @Override
    public String toString() {
      return "run " + number;
    }
  }

  private static Stream<Run> runs() {
    List<Run> runs = new ArrayList<>();
    for (String line : FILE.subList(1, FILE.size())) {
      GoldenLine call = GoldenLine.parse(line);
      if (call.name().equals("generator")) {
        runs.add(new Run(runs.size(), new ArrayList<>()));
      }
      runs.get(runs.size() - 1).calls().add(call);
    }
    return runs.stream();
  }

  @ParameterizedTest
  @MethodSource("runs")
  void everyCallEqualsPyTorch(Run run) {
    PythonGenerator generator = generator(run.calls().get(0));
    for (GoldenLine call : run.calls().subList(1, run.calls().size())) {
      switch (call.name()) {
        case "get_state" ->
            assertThat(sha256(generator.getState()))
                .as("the state at call %d", run.calls().indexOf(call))
                .isEqualTo(call.text("sha256"));
        case "initial_seed" ->
            assertThat(generator.initialSeed()).as(call.line()).isEqualTo(call.number("value"));
        default -> {
          if (call.has("refused")) {
            assertThatIllegalArgumentException()
                .as(call.line())
                .isThrownBy(() -> values(generator, call));
          } else {
            call.check(values(generator, call));
          }
        }
      }
    }
  }

  private static PythonGenerator generator(GoldenLine call) {
    return call.has("state")
        ? PythonGenerator.fromState(Base64.getDecoder().decode(call.text("state")))
        : PythonGenerator.of(call.number("seed"));
  }

  private static long[] values(PythonGenerator generator, GoldenLine call) {
    int size = call.integer("size");
    return switch (call.name()) {
      case "randperm" -> widened(generator.randperm(call.integer("n")));
      case "randint" -> generator.randint(call.number("low"), call.number("high"), size);
      case "random" ->
          call.has("low") ? generator.randomFrom(call.number("low"), size) : generator.random(size);
      case "rand" -> bits(generator.rand(size));
      case "rand64" ->
          Arrays.stream(generator.randDouble(size))
              .mapToLong(Double::doubleToRawLongBits)
              .toArray();
      case "multinomial" ->
          widened(
              generator.multinomial(
                  call.decimals("weights"), call.integer("draws"), call.replacement()));
      default -> throw new AssertionError(call.line());
    };
  }

  private static long[] widened(int[] values) {
    return Arrays.stream(values).asLongStream().toArray();
  }

  private static long[] bits(float[] values) {
    return IntStream.range(0, values.length)
        .mapToLong(i -> Float.floatToRawIntBits(values[i]))
        .toArray();
  }

  private static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
