// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import io.torchfeed.distributed.ProcessGroup;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The work of one rank.
 *
 * @param rank the rank
 * @param bytes bytes of text it read
 * @param lines lines it read
 * @param edges edges it owns, counting repetitions
 * @param cells edges it owns, without repetitions
 * @param loadMillis milliseconds from the plan to the compressed rows
 */
record RankFigures(int rank, long bytes, long lines, long edges, long cells, long loadMillis) {
  /** Gathers the figures of all ranks, on all ranks. */
  static List<RankFigures> ofAll(RankFigures own, ProcessGroup group) {
    long[][] all =
        group.allGatherLongs(
            new long[] {own.rank, own.bytes, own.lines, own.edges, own.cells, own.loadMillis});
    return Arrays.stream(all)
        .map(each -> new RankFigures((int) each[0], each[1], each[2], each[3], each[4], each[5]))
        .toList();
  }

  static String table(List<RankFigures> all) {
    StringBuilder table =
        new StringBuilder(
            "  rank        bytes       lines  edges owned  without repetition  seconds to rows\n");
    for (RankFigures each : all) {
      table.append(
          String.format(
              Locale.ROOT,
              "%6d %,12d %,11d %,12d %,19d %16.2f%n",
              each.rank,
              each.bytes,
              each.lines,
              each.edges,
              each.cells,
              each.loadMillis / 1e3));
    }
    return table.toString();
  }
}
