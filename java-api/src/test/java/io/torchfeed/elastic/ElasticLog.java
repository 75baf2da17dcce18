// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.training.Step;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.LongStream;

/**
 * The lines of all ranks: {@code world GENERATION STEP RANK SIZE NAME DIGEST} when a rank enters a
 * world, and {@code batch GENERATION STEP EPOCH INDEX...} before each step.
 */
final class ElasticLog {
  /** A generation: the steps before it, the names of its ranks, and the state of all of them. */
  record Entered(long step, List<String> names, String digest) {}

  private final List<String[]> lines;

  ElasticLog(Collection<String> lines) {
    this.lines =
        lines.stream()
            .filter(line -> line.startsWith("world ") || line.startsWith("batch "))
            .map(line -> line.split(" ", -1))
            .toList();
  }

  static String world(ElasticRanks ranks, Step step, String name, String digest) {
    World world = ranks.world();
    return "world %d %d %d %d %s %s"
        .formatted(world.generation(), step.number(), step.rank(), step.worldSize(), name, digest);
  }

  static String batch(int generation, long step, Batch batch) {
    StringBuilder line =
        new StringBuilder("batch %d %d %d".formatted(generation, step, batch.epoch()));
    long[] indices = batch.indices();
    for (int i = 0; i < indices.length; i++) {
      if (!batch.isPadding(i)) {
        line.append(' ').append(indices[i]);
      }
    }
    return line.toString();
  }

  /** Returns the generations; requires equal states of all ranks at the start of each. */
  NavigableMap<Integer, Entered> generations() {
    NavigableMap<Integer, Entered> generations = new TreeMap<>();
    for (String[] line : lines) {
      if (line[0].equals("world")) {
        Entered entered =
            generations.computeIfAbsent(
                Integer.valueOf(line[1]),
                generation ->
                    new Entered(
                        Long.parseLong(line[2]),
                        new ArrayList<>(Collections.nCopies(Integer.parseInt(line[4]), "")),
                        line[6]));
        String rank = "rank %s in generation %s".formatted(line[3], line[1]);
        assertThat(Long.parseLong(line[2])).as("step of %s", rank).isEqualTo(entered.step());
        assertThat(line[6]).as("state of %s", rank).isEqualTo(entered.digest());
        entered.names().set(Integer.parseInt(line[3]), line[5]);
      }
    }
    return generations;
  }

  /** Returns a generation that must be there. */
  Entered generation(int generation) {
    return requireNonNull(generations().get(generation));
  }

  /** Returns the samples of an epoch that completed steps have used. */
  List<Long> used(int epoch) {
    NavigableMap<Integer, Entered> generations = generations();
    List<Long> used = new ArrayList<>();
    for (String[] line : lines) {
      if (line[0].equals("batch") && Long.parseLong(line[3]) == epoch) {
        Map.Entry<Integer, Entered> next = generations.higherEntry(Integer.valueOf(line[1]));
        if (next == null || Long.parseLong(line[2]) < next.getValue().step()) {
          Arrays.stream(line).skip(4).map(Long::valueOf).forEach(used::add);
        }
      }
    }
    return used;
  }

  /** Requires that completed steps have used each sample of each epoch once. */
  void assertEachSampleOnce(int epochs) {
    assertEachOnce(epochs, LongStream.range(0, ElasticNet.SAMPLES).boxed().toList());
  }

  /** Requires that completed steps have used these samples of each epoch once, and no others. */
  void assertEachOnce(int epochs, List<Long> samples) {
    for (int epoch = 0; epoch < epochs; epoch++) {
      assertThat(used(epoch))
          .as("samples of epoch %d", epoch)
          .containsExactlyInAnyOrderElementsOf(samples);
    }
  }
}
