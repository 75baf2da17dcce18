// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.stream.IntStream;

/**
 * The largest differencing method of Karmarkar and Karp for sets of equal size: the two partial
 * partitions with the largest spread are merged, the largest set of one with the smallest of the
 * other, until one is left.
 *
 * <p>Source of the tie-breaking rules: verl, {@code verl/utils/seqlen_balancing.py}.
 */
final class KarmarkarKarp {
  private KarmarkarKarp() {}

  /**
   * Partitions the costs into sets of equal size.
   *
   * @param costs the costs, at least one per set; their number is a multiple of {@code sets}
   * @return the positions of each set, ascending; the most expensive set first
   */
  static int[][] equalCounts(long[] costs, int sets) {
    Integer[] order = ascending(costs);
    List<State> states = new ArrayList<>();
    for (int first = 0; first < order.length; first += sets) {
      states.add(
          State.of(Arrays.stream(order, first, first + sets).map(i -> Set.of(costs, i)).toList()));
    }
    return join(states);
  }

  private static Integer[] ascending(long[] costs) {
    return IntStream.range(0, costs.length)
        .boxed()
        .sorted(Comparator.comparingLong((Integer i) -> costs[i]))
        .toArray(Integer[]::new);
  }

  private static int[][] join(List<State> states) {
    PriorityQueue<State> queue = new PriorityQueue<>(states);
    while (queue.size() > 1) {
      queue.add(queue.remove().against(queue.remove()));
    }
    return queue.remove().sets.stream()
        .map(set -> Arrays.stream(set.positions).sorted().toArray())
        .toArray(int[][]::new);
  }

  /** A set of a partial partition; its positions are in the order in which they were added. */
  private static final class Set {
    private final long sum;
    private final int[] positions;

    Set(long sum, int[] positions) {
      this.sum = sum;
      this.positions = positions;
    }

    static Set of(long[] costs, int position) {
      return new Set(costs[position], new int[] {position});
    }

    Set with(Set other) {
      int[] all = Arrays.copyOf(positions, positions.length + other.positions.length);
      System.arraycopy(other.positions, 0, all, positions.length, other.positions.length);
      return new Set(sum + other.sum, all);
    }

    int compare(Set other) {
      int bySum = Long.compare(sum, other.sum);
      return bySum != 0 ? bySum : Arrays.compare(positions, other.positions);
    }
  }

  /** A partial partition, its sets in descending order. A queue has the largest spread first. */
  private record State(List<Set> sets) implements Comparable<State> {
    static State of(List<Set> sets) {
      return new State(sets.stream().sorted((a, b) -> b.compare(a)).toList());
    }

    State against(State other) {
      int count = sets.size();
      return of(
          IntStream.range(0, count)
              .mapToObj(i -> sets.get(i).with(other.sets.get(count - 1 - i)))
              .toList());
    }

    long spread() {
      return sets.get(0).sum - sets.get(sets.size() - 1).sum;
    }

    @Override
    public int compareTo(State other) {
      int bySpread = Long.compare(other.spread(), spread());
      return bySpread != 0 ? bySpread : other.sets.get(0).compare(sets.get(0));
    }
  }
}
