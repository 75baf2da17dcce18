// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

/**
 * Groups of similar content. Positions in order of cost are cut into chunks of one sample per rank,
 * and the chunks into layers of one chunk per group; within a layer, chunks are assigned to groups
 * at random. Not thread-safe.
 */
final class CostLayers {
  /**
   * The share by which the mean of a raised group exceeds the minimum cost of its most expensive
   * share.
   */
  private static final double MARGIN = 0.01;

  /** One in this many groups may be raised, but always at least one group. */
  private static final int GROUPS_PER_RAISED = 8;

  private final int[] byCost;
  private final int worldSize;
  private final Costs costs;
  private final int layers;
  private final int groups;
  private final int[][] chunks; // of each group, one per layer
  private final long[] chunkSums;

  /**
   * Creates layers.
   *
   * @param byCost positions in ascending order of cost
   * @param chunkOf for each layer, the number of the chunk that each group has
   */
  CostLayers(int[] byCost, int worldSize, int[][] chunkOf, Costs costs) {
    this.byCost = byCost;
    this.worldSize = worldSize;
    this.costs = costs;
    layers = chunkOf.length;
    groups = chunkOf[0].length;
    chunks = new int[groups][layers];
    for (int group = 0; group < groups; group++) {
      for (int layer = 0; layer < layers; layer++) {
        chunks[group][layer] = layer * groups + chunkOf[layer][group];
      }
    }
    chunkSums = new long[layers * groups];
    for (int i = 0; i < byCost.length; i++) {
      chunkSums[i / worldSize] += cost(i);
    }
  }

  /**
   * Helps groups whose most expensive sample would stand out: they exchange their next most
   * expensive chunks for the most expensive chunks of other groups, until every rank can be as slow
   * as the one with that sample. A group that cannot be helped this way stays as it is.
   */
  void raise() {
    int[] byTop = new int[groups]; // the group with the most expensive sample first
    for (int group = 0; group < groups; group++) {
      byTop[layers * groups - 1 - chunks[group][layers - 1]] = group;
    }
    int receivers = Math.max(1, groups / GROUPS_PER_RAISED);
    int donor = receivers;
    for (int i = 0; i < receivers && standsOut(byTop[i]); i++) {
      donor += give(byTop[i], byTop, donor);
    }
  }

  /**
   * Swaps chunks until the group no longer stands out, and returns the number of donors; if that is
   * impossible, undoes the swaps and returns 0.
   */
  private int give(int group, int[] byTop, int firstDonor) {
    int lowest = (layers - 2) / worldSize + 1; // below it lie the cheapest samples of the group
    int donor = firstDonor;
    for (int layer = layers - 2; layer >= lowest && donor < groups; layer--) {
      swap(group, layer, byTop[donor++]);
      if (!standsOut(group)) {
        return donor - firstDonor;
      }
    }
    while (donor > firstDonor) {
      donor--;
      swap(group, layers - 2 - (donor - firstDonor), byTop[donor]);
    }
    return 0;
  }

  /** Returns the positions of the groups, one group after the other. */
  int[] members() {
    int[] members = new int[byCost.length];
    for (int group = 0; group < groups; group++) {
      for (int layer = 0; layer < layers; layer++) {
        int to = (group * layers + layer) * worldSize;
        System.arraycopy(byCost, chunks[group][layer] * worldSize, members, to, worldSize);
      }
    }
    return members;
  }

  /**
   * Returns whether the most expensive sample and the cheapest others cost more than the mean of
   * the ranks.
   */
  private boolean standsOut(int group) {
    int[] own = chunks[group];
    double total = 0;
    for (int chunk : own) {
      total += chunkSums[chunk];
    }
    double least = cost((own[layers - 1] + 1) * worldSize - 1);
    for (int i = 0; i < layers - 1; i++) {
      least += cost(own[i / worldSize] * worldSize + i % worldSize);
    }
    return least * (1 + MARGIN) * worldSize > total;
  }

  private void swap(int group, int layer, int donor) {
    int chunk = chunks[group][layer];
    chunks[group][layer] = chunks[donor][layers - 1];
    chunks[donor][layers - 1] = chunk;
  }

  private long cost(int place) {
    return costs.at(byCost[place]);
  }
}
