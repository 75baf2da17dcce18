// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;

/**
 * The groups of samples that become the steps of a window, each dealt to one seat per rank, in
 * ascending order of cost. Not thread-safe.
 */
final class DealtGroups {
  /** A step whose slowest rank is above the mean by more than this share is uneven. */
  private static final double TOLERANCE = 0.004;

  /** How many groups to either side are asked for a sample. */
  private static final int REACH = 32;

  private final int worldSize;
  private final int batchSize;
  private final int groups;
  private final Costs costs;
  private final int[] cells; // positions within the window: group by group, seat by seat
  private final long[] sums; // of the seats

  /**
   * Deals each group, equal counts to each seat.
   *
   * @param members the positions of the groups, one group after the other; where costs are equal,
   *     the first one in its group comes first. They are moved
   * @param costs the cost of each position
   */
  DealtGroups(int worldSize, int batchSize, int[] members, StepDealing dealing, Costs costs) {
    this.worldSize = worldSize;
    this.batchSize = batchSize;
    this.costs = costs;
    groups = members.length / (worldSize * batchSize);
    cells = members;
    sums = new long[groups * worldSize];
    deal(dealing);
  }

  int worldSize() {
    return worldSize;
  }

  int batchSize() {
    return batchSize;
  }

  /** The sum of a seat's costs. */
  long sum(int group, int seat) {
    return sums[group * worldSize + seat];
  }

  /** Copies the positions of a seat. */
  void copy(int group, int seat, int[] into, int from) {
    System.arraycopy(cells, start(group, seat), into, from, batchSize);
  }

  private void deal(StepDealing dealing) {
    int size = worldSize * batchSize;
    StepPartition partition = new StepPartition(worldSize, batchSize);
    int[] members = new int[size];
    long[] items = new long[size];
    long[] batch = new long[batchSize];
    for (int group = 0; group < groups; group++) {
      System.arraycopy(cells, group * size, members, 0, size);
      for (int i = 0; i < size; i++) {
        items[i] = StepPartition.item(costs.at(members[i]), i);
      }
      switch (dealing) {
        case LARGEST_FIRST -> partition.dealLargestFirst(items);
        case KARMARKAR_KARP -> partition.dealByDifferencing(items);
      }
      partition.repair();
      for (int seat = 0; seat < worldSize; seat++) {
        sums[group * worldSize + seat] = partition.sum(seat);
        partition.copy(seat, batch);
        for (int i = 0; i < batchSize; i++) {
          cells[start(group, seat) + i] = members[StepPartition.position(batch[i])];
        }
      }
    }
  }

  /**
   * Evens out the groups that equal counts leave uneven, which happens where costs are few and far
   * between: their cheapest seat takes a dearer sample from a group that hardly feels the loss, for
   * a cheaper one. No seat rises above what was the dearest one of its group.
   */
  void exchange() {
    for (int group = 0; group < groups; group++) {
      int most = 4 * worldSize; // each seat is raised a few times at most
      while (most > 0 && isUneven(group) && raiseCheapestSeat(group)) {
        most--;
      }
    }
  }

  /** Whether a group is uneven and no single sample is the reason, which would need too many. */
  private boolean isUneven(int group) {
    double total = total(group);
    return (double) top(group) * worldSize > (1 + TOLERANCE) * total
        && (double) dearestSample(group) * worldSize < total;
  }

  private long dearestSample(int group) {
    long dearest = 0;
    for (int seat = 0; seat < worldSize; seat++) {
      dearest = Math.max(dearest, cost(start(group, seat) + batchSize - 1));
    }
    return dearest;
  }

  private boolean raiseCheapestSeat(int group) {
    int low = 0;
    for (int seat = 1; seat < worldSize; seat++) {
      low = sum(group, seat) < sum(group, low) ? seat : low;
    }
    long gap = top(group) - sum(group, low);
    Exchange best = new Exchange(start(group, low), 0, 0);
    for (int i = 2; i < 2 * (REACH + 1) && best.gain < gap; i++) {
      int other = i % 2 == 0 ? group - i / 2 : group + i / 2; // nearest first
      if (other >= 0 && other < groups) {
        best = best(best, start(group, low), other, Math.min(gap, room(other)));
      }
    }
    if (best.gain == 0) {
      return false;
    }
    apply(best);
    return true;
  }

  /** How much the sum of a group may fall until it is uneven. */
  private long room(int group) {
    return (long) (total(group) - top(group) / (1 + TOLERANCE) * worldSize);
  }

  /** The exchange with the largest gain up to a limit, from the dearest seat on. */
  private Exchange best(Exchange known, int lowStart, int group, long limit) {
    Exchange best = known;
    int dearest = 0;
    for (int seat = 1; seat < worldSize; seat++) {
      dearest = sum(group, seat) > sum(group, dearest) ? seat : dearest;
    }
    for (int i = 0; i < worldSize && best.gain < limit; i++) {
      int start = start(group, (dearest + i) % worldSize);
      int above = start;
      for (int own = lowStart; own < lowStart + batchSize; own++) {
        while (above < start + batchSize && cost(above) - cost(own) <= limit) {
          above++;
        }
        long gain = above == start ? 0 : cost(above - 1) - cost(own);
        best = gain > best.gain ? new Exchange(own, above - 1, gain) : best;
      }
    }
    return best;
  }

  private void apply(Exchange exchange) {
    int moved = cells[exchange.own];
    cells[exchange.own] = cells[exchange.other];
    cells[exchange.other] = moved;
    sums[exchange.own / batchSize] += exchange.gain;
    sums[exchange.other / batchSize] -= exchange.gain;
    sortSeat(exchange.own / batchSize * batchSize);
    sortSeat(exchange.other / batchSize * batchSize);
  }

  private void sortSeat(int start) {
    for (int i = start + 1; i < start + batchSize; i++) {
      int cell = cells[i];
      long cost = cost(i);
      int to = i;
      for (; to > start && cost(to - 1) > cost; to--) {
        cells[to] = cells[to - 1];
      }
      cells[to] = cell;
    }
  }

  private long cost(int cell) {
    return costs.at(cells[cell]);
  }

  private long top(int group) {
    return Arrays.stream(sums, group * worldSize, (group + 1) * worldSize).max().orElseThrow();
  }

  private long total(int group) {
    return Arrays.stream(sums, group * worldSize, (group + 1) * worldSize).sum();
  }

  private int start(int group, int seat) {
    return (group * worldSize + seat) * batchSize;
  }

  /** Cells that change places, and what the first one's seat gains. */
  private record Exchange(int own, int other, long gain) {}
}
