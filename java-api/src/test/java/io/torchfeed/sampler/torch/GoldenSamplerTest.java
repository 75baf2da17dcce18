// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares with the output of libtorch's own classes; see golden/libtorch_samplers.cc. */
class GoldenSamplerTest {
  private static List<String> lines = List.of();

  @BeforeAll
  static void readTheGoldenFile() throws IOException {
    try (InputStream in =
            Objects.requireNonNull(
                GoldenSamplerTest.class.getResourceAsStream("/golden/libtorch_samplers.txt"));
        BufferedReader reader = new BufferedReader(new InputStreamReader(in, UTF_8))) {
      lines = reader.lines().toList();
    }
  }

  @Test
  void theHeaderNamesProgramAndVersion() {
    assertThat(lines.get(0)).startsWith("# program ").contains("libtorch 2.10.0");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "DistributedRandomSampler",
        "DistributedSequentialSampler",
        "RandomSampler",
        "SequentialSampler"
      })
  void indicesAndBatchesEqualThoseOfLibtorch(String name) {
    List<Pass> passes =
        lines.stream().filter(line -> line.startsWith(name + " ")).map(Pass::new).toList();
    assertThat(passes).hasSizeGreaterThanOrEqualTo(15);
    passes.forEach(GoldenSamplerTest::check);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "DistributedRandomSampler",
        "DistributedSequentialSampler",
        "RandomSampler",
        "SequentialSampler"
      })
  void ordersAndPaddingInJavaEqualThoseOfLibtorch(String name) {
    List<Pass> passes =
        lines.stream().filter(line -> line.startsWith(name + " ")).map(Pass::new).toList();
    assertThat(passes).hasSizeGreaterThanOrEqualTo(15);
    for (Pass pass : passes) {
      Sampler sampler = pass.sampler();
      Sampler inJava = inJava(sampler);
      assertThat(inJava.parameters()).isEqualTo(sampler.parameters());
      long epoch = pass.number("epoch");
      try (Cursor cursor = sampler.epoch(epoch);
          Cursor same = inJava.epoch(epoch)) {
        assertThat(Cursors.rest(same)).as(pass.line()).isEqualTo(Cursors.rest(cursor));
        for (long position = 0; position < Math.min(sampler.size(), 1_000); position++) {
          if (same.isPadding(position) != cursor.isPadding(position)) {
            throw new AssertionError("padding at " + position + " of " + pass.line());
          }
        }
      }
    }
  }

  private static Sampler inJava(Sampler sampler) {
    if (sampler instanceof DistributedRandomSampler plan) {
      return plan.inJava();
    }
    if (sampler instanceof DistributedSequentialSampler plan) {
      return plan.inJava();
    }
    if (sampler instanceof RandomSampler plan) {
      return plan.inJava();
    }
    return ((SequentialSampler) sampler).inJava();
  }

  private static void check(Pass pass) {
    Sampler sampler = pass.sampler();
    assertThat(sampler.size()).as(pass.line()).isEqualTo(pass.number("count"));
    try (Cursor cursor = sampler.epoch(pass.number("epoch"))) {
      long[] all = Cursors.rest(cursor);
      checkIndices(pass, all);
      pass.batches().forEach((batchSize, sizes) -> checkBatches(pass, cursor, batchSize, sizes));
    }
  }

  private static void checkIndices(Pass pass, long[] all) {
    long[] head = pass.list("head");
    long[] tail = pass.list("tail");
    if (pass.number("overflow") == 0) {
      assertThat(Cursors.hash(all)).as(pass.line()).isEqualTo(pass.number("hash"));
    } else {
      head = LongStream.of(head).map(index -> index % pass.number("n")).toArray();
      assertThat(head).as(pass.line()).hasSameSizeAs(all);
    }
    assertThat(all).as(pass.line()).hasSize((int) pass.number("count"));
    assertThat(Arrays.copyOf(all, head.length)).as(pass.line()).isEqualTo(head);
    assertThat(Arrays.copyOfRange(all, all.length - tail.length, all.length))
        .as(pass.line())
        .isEqualTo(tail);
  }

  private static void checkBatches(Pass pass, Cursor cursor, int batchSize, String sizes) {
    cursor.seek(0);
    long samples = cursor.remaining();
    int full = 0;
    int rest = 0;
    for (long[] batch : Cursors.batches(cursor, batchSize)) {
      assertThat(batch)
          .as(pass.line())
          .hasSize((int) Math.min(batchSize, samples - (long) full * batchSize));
      if (batch.length == batchSize) {
        full++;
      } else {
        rest = batch.length;
      }
    }
    assertThat(full + "+" + rest).as(pass.line()).isEqualTo(sizes);
    assertThat((samples + batchSize - 1) / batchSize)
        .as(pass.line())
        .isEqualTo(full + (rest == 0 ? 0 : 1));
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

    String line() {
      return line;
    }

    private String text(String key) {
      return fields.getOrDefault(key, "0");
    }

    long number(String key) {
      return Long.parseLong(text(key));
    }

    long[] list(String key) {
      return text(key).isEmpty()
          ? new long[0]
          : Arrays.stream(text(key).split(",", -1)).mapToLong(Long::parseLong).toArray();
    }

    Map<Integer, String> batches() {
      Map<Integer, String> batches = new HashMap<>();
      for (String word : text("batches").split(",", -1)) {
        String[] parts = word.split(":", 2);
        batches.put(Integer.valueOf(parts[0]), parts[1]);
      }
      return batches;
    }

    Sampler sampler() {
      long n = number("n");
      int worldSize = (int) number("worldSize");
      int rank = (int) number("rank");
      Tail tail = number("pad") == 0 ? Tail.DROP : Tail.PAD;
      return switch (text("name")) {
        case "SequentialSampler" -> SequentialSampler.of(n);
        case "RandomSampler" -> RandomSampler.of(n, number("seed"));
        case "DistributedSequentialSampler" ->
            DistributedSequentialSampler.of(n, new Part(worldSize, rank)).withTail(tail);
        case "DistributedRandomSampler" ->
            DistributedRandomSampler.of(n, new Part(worldSize, rank)).withTail(tail);
        default -> throw new AssertionError(line);
      };
    }
  }
}
