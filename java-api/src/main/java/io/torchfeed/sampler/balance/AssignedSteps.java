// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import java.util.Arrays;

/**
 * The groups of samples that become the steps of a window, each divided into one share per rank;
 * the samples of a share are in ascending order of cost. Not thread-safe.
 */
final class AssignedSteps {
  /**
   * The fraction by which the slowest rank of a step may exceed the mean before the step is uneven.
   */
  private static final double TOLERANCE = 0.004;

  /** The number of groups on either side that are searched for a sample. */
  private static final int REACH = 32;

  private final int worldSize;
  private final int batchSize;
  private final int groups;
  private final Costs costs;
  private final int[] cells; // positions within the window: group by group, share by share
  private final long[] sums; // cost of each share

  /**
   * Divides each group into shares of equal counts.
   *
   * @param members the positions of the groups, one group after the other; among equal costs, the
   *     first one in its group comes first. The array is kept and reordered
   * @param costs the cost of each position
   */
  AssignedSteps(int worldSize, int batchSize, int[] members, Costs costs) {
    this.worldSize = worldSize;
    this.batchSize = batchSize;
    this.costs = costs;
    groups = members.length / (worldSize * batchSize);
    cells = members;
    sums = new long[groups * worldSize];
    assign();
  }

  int worldSize() {
    return worldSize;
  }

  int batchSize() {
    return batchSize;
  }

  /** Returns the sum of a share's costs. */
  long sum(int group, int share) {
    return sums[group * worldSize + share];
  }

  /** Copies the positions of a share. */
  void copy(int group, int share, int[] into, int from) {
    System.arraycopy(cells, start(group, share), into, from, batchSize);
  }

  private void assign() {
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
      partition.assignLargestFirst(items);
      partition.repair();
      for (int share = 0; share < worldSize; share++) {
        sums[group * worldSize + share] = partition.sum(share);
        partition.copy(share, batch);
        for (int i = 0; i < batchSize; i++) {
          cells[start(group, share) + i] = members[StepPartition.position(batch[i])];
        }
      }
    }
  }

  /**
   * Evens out the groups that equal counts leave uneven, which happens if costs are sparse, with
   * wide gaps: in exchange for a cheaper sample, their cheapest share takes a more expensive one
   * from a group that can spare it. No share rises above the former most expensive share of its
   * group.
   */
  void exchange() {
    for (int group = 0; group < groups; group++) {
      int most = 4 * worldSize; // each share is raised a few times at most
      while (most > 0 && isUneven(group) && raiseCheapestShare(group)) {
        most--;
      }
    }
  }

  /** Returns the sum of the unevenness of the groups; 0 if none is uneven. */
  double unevenness() {
    double sum = 0;
    for (int group = 0; group < groups; group++) {
      double even = (1 + TOLERANCE) * total(group);
      sum += Math.max(0, (double) top(group) * worldSize - even) / Math.max(1, even);
    }
    return sum;
  }

  /**
   * Returns whether a group is uneven for a reason other than a single sample, which would take too
   * many exchanges to offset.
   */
  private boolean isUneven(int group) {
    double total = total(group);
    return (double) top(group) * worldSize > (1 + TOLERANCE) * total
        && (double) largestSampleCost(group) * worldSize < total;
  }

  private long largestSampleCost(int group) {
    long largest = 0;
    for (int share = 0; share < worldSize; share++) {
      largest = Math.max(largest, cost(start(group, share) + batchSize - 1));
    }
    return largest;
  }

  private boolean raiseCheapestShare(int group) {
    int low = 0;
    for (int share = 1; share < worldSize; share++) {
      low = sum(group, share) < sum(group, low) ? share : low;
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

  /** Returns the amount by which the sum of a group may fall before the group is uneven. */
  private long room(int group) {
    return (long) (total(group) - top(group) / (1 + TOLERANCE) * worldSize);
  }

  /**
   * Returns the exchange with the largest gain up to a limit, searching from the most expensive
   * share on.
   */
  private Exchange best(Exchange known, int lowStart, int group, long limit) {
    Exchange best = known;
    int mostExpensive = 0;
    for (int share = 1; share < worldSize; share++) {
      mostExpensive = sum(group, share) > sum(group, mostExpensive) ? share : mostExpensive;
    }
    for (int i = 0; i < worldSize && best.gain < limit; i++) {
      int start = start(group, (mostExpensive + i) % worldSize);
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
    sortShare(exchange.own / batchSize * batchSize);
    sortShare(exchange.other / batchSize * batchSize);
  }

  private void sortShare(int start) {
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

  private int start(int group, int share) {
    return (group * worldSize + share) * batchSize;
  }

  /** Two cells that change places, and the gain of the first cell's share. */
  private record Exchange(int own, int other, long gain) {}
}
