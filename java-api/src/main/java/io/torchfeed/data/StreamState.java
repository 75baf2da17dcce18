// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.sampler.PlanParameters;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * How far one rank has got with the shards of a {@link StreamDataset}: what a checkpoint keeps, so
 * that {@link StreamLoader#resume} goes on exactly there. Immutable. A position for each shard of
 * the rank; nothing in it depends on workers or prefetching.
 *
 * @param dataset what the positions belong to
 * @param epoch the number of the epoch, at least 0
 * @param shards the number of shards of all ranks, at least 1
 * @param positions one of each shard of this rank, at least one
 * @param next the shard of this rank whose turn is next
 * @param batches how many batches this rank has delivered in this epoch, at least 0
 * @param finished whether the end of the epoch was reported, so that the next epoch is due
 */
public record StreamState(
    PlanParameters dataset,
    long epoch,
    int shards,
    List<ShardPosition> positions,
    int next,
    long batches,
    boolean finished) {
  /**
   * A state.
   *
   * @param dataset what the positions belong to
   * @param epoch the number of the epoch
   * @param shards the number of shards of all ranks
   * @param positions one of each shard of this rank
   * @param next the shard whose turn is next
   * @param batches how many batches this rank has delivered
   * @param finished whether the end of the epoch was reported
   * @throws IllegalArgumentException if an argument is outside of its range, a shard comes twice,
   *     {@code next} has no position, or a finished epoch has shards that have not ended
   */
  public StreamState {
    requireNonNull(dataset, "dataset");
    positions = List.copyOf(positions);
    if (epoch < 0 || (finished && epoch == Long.MAX_VALUE) || batches < 0) {
      throw new IllegalArgumentException(
          "epoch and batches must be at least 0, and a finished epoch below %d, got %d and %d"
              .formatted(Long.MAX_VALUE, epoch, batches));
    }
    Set<Integer> seen = new HashSet<>();
    for (ShardPosition position : positions) {
      if (position.shard() >= shards || !seen.add(position.shard())) {
        throw new IllegalArgumentException(
            "positions must be of different shards in [0, %d), got %s"
                .formatted(shards, positions));
      }
      if (finished && !position.isEnded()) {
        throw new IllegalArgumentException(
            "all shards of a finished epoch have ended, got " + position);
      }
    }
    if (!seen.contains(next)) {
      throw new IllegalArgumentException(
          "next must be one of the shards %s, got %d".formatted(seen, next));
    }
  }

  /**
   * The state as JSON text, one line.
   *
   * @return the text; {@link #fromJson} gives an equal state
   */
  public String toJson() {
    return StreamStateJson.write(this);
  }

  /**
   * The state of a JSON text.
   *
   * @param json what {@link #toJson} returned; fields may come in another order, with white space
   * @return the state
   * @throws IllegalArgumentException if the text is no JSON object, a field is missing, unknown,
   *     double or wrong, or the version is not known
   */
  public static StreamState fromJson(String json) {
    return StreamStateJson.read(json);
  }
}
