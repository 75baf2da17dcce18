// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.ResumeMismatchException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The starting point of a pass of one rank over its shards.
 *
 * @param epoch the number of the epoch
 * @param positions one position for each shard of the rank, in ascending order of shards
 * @param next the index in {@code positions} of the shard whose turn is first
 * @param batches the number of batches of the epoch that the rank has delivered
 */
public record StreamStart(
    long epoch, List<LoaderState.ShardPosition> positions, int next, long batches) {
  /** Returns the shards of a rank. */
  public static List<Integer> shards(int shards, Part part) {
    return IntStream.iterate(
            part.rank(), shard -> shard < shards, shard -> shard + part.worldSize())
        .boxed()
        .toList();
  }

  private static LoaderState.ShardPosition startOf(int shard) {
    return new LoaderState.ShardPosition(shard, null, 0, false);
  }

  public static StreamStart ofEpoch(long epoch, List<Integer> own) {
    Checks.requireEpoch(epoch);
    return new StreamStart(epoch, own.stream().map(StreamStart::startOf).toList(), 0, 0);
  }

  public static StreamStart of(
      List<LoaderState.StreamState> states, StreamDataset dataset, List<Integer> own) {
    if (states.isEmpty()) {
      throw new IllegalArgumentException("states must contain at least one state, got none");
    }
    LoaderState.StreamState first = states.get(0);
    Map<Integer, LoaderState.ShardPosition> all = new LinkedHashMap<>();
    for (LoaderState.StreamState state : states) {
      requireSame(state, dataset);
      if (state.epoch() != first.epoch()) {
        throw new IllegalArgumentException(
            "states must be of one epoch, got %d and %d".formatted(first.epoch(), state.epoch()));
      }
      for (LoaderState.ShardPosition position : state.positions()) {
        if (all.put(position.shard(), position) != null) {
          throw new IllegalArgumentException(
              "states must be of different ranks, got shard %d twice".formatted(position.shard()));
        }
      }
    }
    if (states.stream().allMatch(LoaderState.StreamState::finished)) {
      return ofEpoch(first.epoch() + 1, own);
    }
    List<LoaderState.ShardPosition> positions =
        own.stream().map(shard -> present(shard, all)).toList();
    LoaderState.StreamState same = ofTheSameShards(states, own);
    return same == null
        ? new StreamStart(first.epoch(), positions, 0, 0)
        : new StreamStart(first.epoch(), positions, own.indexOf(same.next()), same.batches());
  }

  private static LoaderState.ShardPosition present(
      int shard, Map<Integer, LoaderState.ShardPosition> all) {
    LoaderState.ShardPosition position = all.get(shard);
    if (position == null) {
      throw new IllegalArgumentException(
          "states must contain each shard of this rank, shard %d is missing; pass the states of all ranks"
              .formatted(shard));
    }
    return position;
  }

  private static LoaderState.@Nullable StreamState ofTheSameShards(
      List<LoaderState.StreamState> states, List<Integer> own) {
    for (LoaderState.StreamState state : states) {
      if (state.positions().stream()
          .map(LoaderState.ShardPosition::shard)
          .sorted()
          .toList()
          .equals(own)) {
        return state;
      }
    }
    return null;
  }

  private static void requireSame(LoaderState.StreamState state, StreamDataset dataset) {
    state.dataset().requireSame(dataset.parameters());
    if (state.shards() != dataset.shards()) {
      throw new ResumeMismatchException("shards", "" + state.shards(), "" + dataset.shards());
    }
  }
}
