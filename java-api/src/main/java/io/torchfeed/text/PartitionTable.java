// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The formatting of a plan as text. */
final class PartitionTable {
  private PartitionTable() {}

  static String of(TextPartition plan) {
    StringBuilder table = new StringBuilder();
    List<TextPartition.RankShare> shares = plan.shares();
    double sum = shares.stream().mapToDouble(TextPartition.RankShare::bytes).sum();
    table.append("%6s %20s %7s %7s  %s%n".formatted("rank", "bytes", "share", "files", "ranges"));
    for (TextPartition.RankShare share : shares) {
      table.append(
          String.format(
              Locale.ROOT,
              "%6d %20d %6.2f%% %7d  %s%n",
              share.rank(),
              share.bytes(),
              sum == 0 ? 0 : 100 * share.bytes() / sum,
              share.files(),
              ranges(share.ranges())));
    }
    table.append(
        String.format(
            Locale.ROOT,
            "%d bytes in %d files, imbalance %.4f%n",
            plan.bytes(),
            plan.files().size(),
            plan.imbalance()));
    plan.files().stream()
        .filter(file -> !file.isSplittable())
        .forEach(
            file ->
                table.append(
                    "%s: compressed, %d bytes in one block%n"
                        .formatted(file.path(), file.bytes())));
    return table.toString().replace(System.lineSeparator(), "\n");
  }

  private static String ranges(List<ByteRange> ranges) {
    return ranges.isEmpty()
        ? "none"
        : ranges.stream()
            .map(range -> "[%d, %d)".formatted(range.start(), range.end()))
            .collect(Collectors.joining(" "));
  }
}
