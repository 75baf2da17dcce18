// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.internal.Quotes;
import io.torchfeed.sampler.Part;
import java.util.Arrays;
import java.util.Comparator;
import java.util.OptionalInt;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The ranks of a group that form a sub-group, in their order in the sub-group. Immutable. */
final class Members {
  private final int[] ranks;
  private final int own;

  private Members(int[] ranks, int own) {
    this.ranks = ranks;
    this.own = own;
  }

  /** Checks that the ranks are different ones of the group, the own one among them. */
  static Members of(int[] ranks, int rank, int size) {
    int[] members = ranks.clone();
    int own = -1;
    for (int i = 0; i < members.length; i++) {
      if (members[i] < 0 || members[i] >= size) {
        throw new IllegalArgumentException(
            "ranks must be in [0, %d), got %d at position %d".formatted(size, members[i], i));
      }
      own = members[i] == rank ? i : own;
    }
    if (own < 0 || Arrays.stream(members).distinct().count() < members.length) {
      throw new IllegalArgumentException(
          "ranks must be different, with %d among them, got [%s]"
              .formatted(rank, Quotes.listed(", ", Arrays.stream(members).boxed().toList())));
    }
    return new Members(members, own);
  }

  /**
   * Returns the ranks of one color.
   *
   * @param all the color and the key of each rank
   * @param mine the rank of this process in the group
   */
  static Members ofColor(long[][] all, int color, int mine) {
    int[] ranks =
        IntStream.range(0, all.length)
            .filter(rank -> all[rank][0] == color)
            .boxed()
            .sorted(Comparator.comparingLong(rank -> all[rank][1])) // stable
            .mapToInt(Integer::intValue)
            .toArray();
    return of(ranks, mine, all.length);
  }

  Part part() {
    return new Part(ranks.length, own);
  }

  /** Returns a name that these ranks have in common. */
  String name() {
    return IntStream.of(ranks).mapToObj(String::valueOf).collect(Collectors.joining("-"));
  }

  /** Returns the rank in the group of one of the sub-group. */
  int inGroup(int rank) {
    return ranks[rank];
  }

  /** Returns the number of a rank of the group in the sub-group; empty if it is not in it. */
  OptionalInt numberOf(OptionalInt inGroup) {
    return IntStream.range(0, ranks.length)
        .filter(i -> inGroup.isPresent() && ranks[i] == inGroup.getAsInt())
        .findFirst();
  }

  /** Returns whether another rank of the sub-group is lost, as far as the group knows. */
  IntPredicate isLost(IntPredicate isLostInGroup) {
    return i -> i != own && isLostInGroup.test(ranks[i]);
  }
}
