// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.bytedeco.pytorch.Tensor;

/**
 * The tensors of a part, divided among ranks: runs in the order of the map with about as many bytes
 * each. All ranks make the same from the same names and sizes.
 */
final class ShardDivision {
  private final List<Set<String>> ofRanks;

  private ShardDivision(List<Set<String>> ofRanks) {
    this.ofRanks = ofRanks;
  }

  static ShardDivision of(Map<String, Tensor> tensors, int ranks) {
    List<Set<String>> ofRanks = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      ofRanks.add(new LinkedHashSet<>());
    }
    double total = tensors.values().stream().mapToDouble(ShardDivision::bytes).sum();
    double at = 0;
    for (Map.Entry<String, Tensor> tensor : tensors.entrySet()) {
      double middle = at + bytes(tensor.getValue()) / 2;
      int rank = total == 0 ? 0 : (int) (middle / total * ranks);
      ofRanks.get(Math.min(rank, ranks - 1)).add(tensor.getKey());
      at += bytes(tensor.getValue());
    }
    return new ShardDivision(ofRanks);
  }

  private static double bytes(Tensor tensor) {
    return (double) tensor.numel() * tensor.element_size();
  }

  /** Returns the names of a rank's tensors. */
  Set<String> tensors(int rank) {
    return ofRanks.get(rank);
  }

  /** Returns the name of the file of a rank that has tensors. */
  String fileName(String part, int rank) {
    long shards = ofRanks.stream().filter(each -> !each.isEmpty()).count();
    long before = ofRanks.subList(0, rank).stream().filter(each -> !each.isEmpty()).count();
    return shards > 1
        ? Manifest.shardName(part, (int) before, (int) shards)
        : Manifest.fileName(part);
  }
}
