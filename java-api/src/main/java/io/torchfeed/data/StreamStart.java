// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.ResumeMismatchException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Where a pass of one rank begins.
 *
 * @param epoch the number of the epoch
 * @param positions one of each shard of the rank, ascending
 * @param next which of them is first
 * @param batches how many batches of the epoch the rank has delivered
 */
record StreamStart(long epoch, List<ShardPosition> positions, int next, long batches) {
  /** The shards of a rank. */
  static List<Integer> shards(int shards, int rank, int worldSize) {
    return IntStream.iterate(rank, shard -> shard < shards, shard -> shard + worldSize)
        .boxed()
        .toList();
  }

  static StreamStart ofEpoch(long epoch, List<Integer> own) {
    if (epoch < 0) {
      throw new IllegalArgumentException("epoch must be at least 0, got " + epoch);
    }
    return new StreamStart(epoch, own.stream().map(ShardPosition::startOf).toList(), 0, 0);
  }

  static StreamStart of(List<StreamState> states, StreamDataset dataset, List<Integer> own) {
    if (states.isEmpty()) {
      throw new IllegalArgumentException("states must hold that of a rank, got none");
    }
    StreamState first = states.get(0);
    Map<Integer, ShardPosition> all = new LinkedHashMap<>();
    for (StreamState state : states) {
      requireSame(state, dataset);
      if (state.epoch() != first.epoch()) {
        throw new IllegalArgumentException(
            "states must be of one epoch, got %d and %d".formatted(first.epoch(), state.epoch()));
      }
      for (ShardPosition position : state.positions()) {
        if (all.put(position.shard(), position) != null) {
          throw new IllegalArgumentException(
              "states must be of different ranks, got shard %d twice".formatted(position.shard()));
        }
      }
    }
    if (states.stream().allMatch(StreamState::finished)) {
      return ofEpoch(first.epoch() + 1, own);
    }
    List<ShardPosition> positions = own.stream().map(shard -> present(shard, all)).toList();
    StreamState same = ofTheSameShards(states, own);
    return same == null
        ? new StreamStart(first.epoch(), positions, 0, 0)
        : new StreamStart(first.epoch(), positions, own.indexOf(same.next()), same.batches());
  }

  private static ShardPosition present(int shard, Map<Integer, ShardPosition> all) {
    ShardPosition position = all.get(shard);
    if (position == null) {
      throw new IllegalArgumentException(
          "states must have each shard of this rank, got none of shard %d; give those of all ranks"
              .formatted(shard));
    }
    return position;
  }

  private static @Nullable StreamState ofTheSameShards(
      List<StreamState> states, List<Integer> own) {
    for (StreamState state : states) {
      if (state.positions().stream().map(ShardPosition::shard).sorted().toList().equals(own)) {
        return state;
      }
    }
    return null;
  }

  private static void requireSame(StreamState state, StreamDataset dataset) {
    PlanParameters saved = state.dataset();
    PlanParameters present = dataset.parameters();
    requireSame("kind", saved.kind(), present.kind());
    Set<String> names = new LinkedHashSet<>(saved.values().keySet());
    names.addAll(present.values().keySet());
    for (String name : new ArrayList<>(names)) {
      requireSame(
          name,
          saved.values().getOrDefault(name, "none"),
          present.values().getOrDefault(name, "none"));
    }
    requireSame("shards", "" + state.shards(), "" + dataset.shards());
  }

  private static void requireSame(String parameter, String saved, String present) {
    if (!saved.equals(present)) {
      throw new ResumeMismatchException(parameter, saved, present);
    }
  }
}
