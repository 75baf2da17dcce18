// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.bytedeco.javacpp.LongPointer;

/**
 * The steps that ranks have started, with the ids of their rows: a file for each attempt and rank.
 */
final class StepLog {
  private StepLog() {}

  private record Step(long epoch, long number, List<Long> ids) {
    static Step parse(String line) {
      List<Long> all = Arrays.stream(line.split(" ")).map(Long::valueOf).toList();
      return new Step(all.get(0), all.get(1), all.subList(2, all.size()));
    }

    boolean isBefore(Step other) {
      return epoch < other.epoch || (epoch == other.epoch && number < other.number);
    }
  }

  private static Path file(String folder, int attempt, int rank) {
    return Path.of(folder, "attempt-" + attempt + "-rank-" + rank);
  }

  /** Notes a step before it is taken; column 0 has the ids. */
  static void note(String folder, RankContext context, Batch batch) {
    long[] ids = new long[batch.size()];
    new LongPointer(batch.tensor(0).data_ptr_long()).get(ids);
    StringBuilder line =
        new StringBuilder().append(batch.epoch()).append(' ').append(batch.number());
    LongStream.of(ids).forEach(id -> line.append(' ').append(id));
    try {
      Files.writeString(
          file(folder, context.attempt(), context.rank()),
          line.append('\n'),
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Requires that the steps that count have each id once in each epoch. */
  static void requireEachRowOnce(Path folder, int ranks, int attempts, int epochs, long rows)
      throws IOException {
    List<Step> all = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      List<Step> ofRank = new ArrayList<>();
      for (int attempt = 0; attempt < attempts; attempt++) {
        List<Step> now = read(file(folder.toString(), attempt, rank));
        ofRank.removeIf(step -> !step.isBefore(now.get(0))); // lost with the attempt
        assertThat(ofRank)
            .as("kept from attempt %d", attempt - 1)
            .hasSizeGreaterThanOrEqualTo(attempt);
        ofRank.addAll(now);
      }
      all.addAll(ofRank);
    }
    for (long epoch = 0; epoch < epochs; epoch++) {
      long current = epoch;
      assertThat(
              all.stream()
                  .filter(step -> step.epoch() == current)
                  .flatMap(step -> step.ids().stream()))
          .as("ids of epoch %d", epoch)
          .containsExactlyInAnyOrderElementsOf(LongStream.range(0, rows).boxed().toList());
    }
  }

  private static List<Step> read(Path file) throws IOException {
    try (Stream<String> lines = Files.lines(file)) {
      return lines.map(Step::parse).toList();
    }
  }
}
