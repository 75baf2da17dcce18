// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Quotes;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.SamplerState;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * The progress of the consumer of a pass, to be saved in a checkpoint. {@link
 * io.torchfeed.data.loader.DataLoader#resume(LoaderState)} delivers exactly the rest of it.
 * Immutable.
 *
 * <p>The state does not depend on workers, prefetching or the engine: batches that were loaded
 * ahead but not delivered are loaded again.
 */
public sealed interface LoaderState {
  /**
   * Returns the epoch of the pass.
   *
   * @return the number of the epoch, at least 0
   */
  long epoch();

  /**
   * Returns whether the consumer has seen the end of the epoch, so that the next epoch follows.
   *
   * @return true once {@link io.torchfeed.data.loader.Batches#hasNext} has returned false
   */
  boolean finished();

  /**
   * Returns the state as JSON text, one line.
   *
   * @return the text; {@link #fromJson} returns an equal state
   */
  String toJson();

  /**
   * Parses a state from JSON text.
   *
   * @param json the result of {@link #toJson}, or of {@link SamplerState#toJson}; fields may be in
   *     another order, with white space
   * @return the state
   * @throws IllegalArgumentException if the text is not a JSON object, a field is missing, unknown,
   *     duplicate or wrong, or the version is unknown
   */
  static LoaderState fromJson(String json) {
    requireNonNull(json, "json");
    return LoaderStateJson.read(json);
  }

  /**
   * The part of a shard of a stream that has been delivered in an epoch.
   *
   * @param shard the number of the shard, at least 0
   * @param position where the shard continues, as returned by the dataset; null for its start
   * @param samples the number of samples before the position, including failed ones; at least 0
   * @param isEnded whether no samples are left
   */
  public record ShardPosition(int shard, @Nullable String position, long samples, boolean isEnded) {
    /**
     * Creates a position.
     *
     * @param shard the number of the shard, at least 0
     * @param position where the shard continues; null for its start
     * @param samples the number of samples before the position, at least 0
     * @param isEnded whether no samples are left
     * @throws IllegalArgumentException if a number is negative, or there are samples before the
     *     start
     */
    public ShardPosition {
      if (shard < 0 || samples < 0 || (position == null && samples > 0)) {
        throw new IllegalArgumentException(
            "shard and samples must be at least 0, and samples 0 at the start, got %d, %d and %s"
                .formatted(shard, samples, position == null ? null : Quotes.shortened(position)));
      }
    }
  }

  /**
   * The state of a pass in the order of a sampler. Without batches delivered ahead, it is valid on
   * any rank, and for any number of ranks; if their parts differ in length, a rank with the longest
   * one saves it: {@link SamplerState}.
   *
   * @param sampler the part of the order that was delivered without a gap
   * @param deliveredAhead the numbers of the batches that were delivered although an earlier one
   *     was not, ascending; empty unless {@link io.torchfeed.data.loader.DataLoaderBuilder#inOrder}
   *     is false
   */
  public record IndexState(SamplerState sampler, List<Long> deliveredAhead) implements LoaderState {
    /**
     * Creates a state.
     *
     * @param sampler the part of the order that was delivered without a gap
     * @param deliveredAhead the numbers of batches that were delivered after a gap, ascending
     */
    public IndexState {
      requireNonNull(deliveredAhead, "deliveredAhead");
      requireNonNull(sampler, "sampler");
      deliveredAhead = Checks.copyOf("deliveredAhead", deliveredAhead);
    }

    /**
     * Creates a state without batches delivered ahead.
     *
     * @param sampler the delivered part of the order, for example as returned by a cursor
     */
    public IndexState(SamplerState sampler) {
      this(sampler, List.of());
    }

    /**
     * Creates a state with batches delivered ahead.
     *
     * @param sampler the part of the order that was delivered without gaps
     * @param deliveredAhead the numbers of the batches after it that were delivered, ascending
     */
    public IndexState(SamplerState sampler, long[] deliveredAhead) {
      this(
          sampler,
          LongStream.of(requireNonNull(deliveredAhead, "deliveredAhead")).boxed().toList());
    }

    @Override
    public long epoch() {
      return sampler.epoch();
    }

    @Override
    public boolean finished() {
      return sampler.finished();
    }

    @Override
    public String toJson() {
      return LoaderStateJson.write(this);
    }
  }

  /**
   * The progress of one rank through its shards of a {@link StreamDataset}, to be saved in a
   * checkpoint so that {@link io.torchfeed.data.loader.DataLoader#resume(java.util.List)} continues
   * exactly there. It has a position for each shard of the rank; nothing in it depends on workers
   * or prefetching. Immutable.
   *
   * @param dataset the parameters of the dataset that the positions belong to
   * @param epoch the number of the epoch, at least 0
   * @param shards the number of shards of all ranks, at least 1
   * @param positions one position for each shard of this rank, at least one
   * @param next the shard of this rank whose turn is next
   * @param batches the number of batches that this rank has delivered in this epoch, at least 0
   * @param finished whether the end of the epoch was reported, so that the next epoch follows
   */
  public record StreamState(
      PlanParameters dataset,
      long epoch,
      int shards,
      List<LoaderState.ShardPosition> positions,
      int next,
      long batches,
      boolean finished)
      implements LoaderState {
    /**
     * Creates a state.
     *
     * @param dataset the parameters of the dataset that the positions belong to
     * @param epoch the number of the epoch
     * @param shards the number of shards of all ranks
     * @param positions one position for each shard of this rank
     * @param next the shard whose turn is next
     * @param batches the number of batches that this rank has delivered
     * @param finished whether the end of the epoch was reported
     * @throws IllegalArgumentException if an argument is out of range, a shard appears twice,
     *     {@code next} has no position, or a finished epoch has shards that have not ended
     */
    public StreamState {
      requireNonNull(positions, "positions");
      requireNonNull(dataset, "dataset");
      positions = Checks.copyOf("positions", positions);
      if (epoch < 0 || (finished && epoch == Long.MAX_VALUE) || batches < 0) {
        throw new IllegalArgumentException(
            "epoch and batches must be at least 0, and a finished epoch below %d, got %d and %d"
                .formatted(Long.MAX_VALUE, epoch, batches));
      }
      Set<Integer> seen = new HashSet<>();
      for (LoaderState.ShardPosition position : positions) {
        if (position.shard() >= shards || !seen.add(position.shard())) {
          throw new IllegalArgumentException(
              "positions must be of different shards in [0, %d), got shard %d"
                      .formatted(shards, position.shard())
                  + (position.shard() < shards ? " twice" : ""));
        }
        if (finished && !position.isEnded()) {
          throw new IllegalArgumentException(
              "all shards of a finished epoch must have ended, got shard %d, which has not"
                  .formatted(position.shard()));
        }
      }
      if (!seen.contains(next)) {
        throw new IllegalArgumentException(
            "next must be the shard of one of the %d positions, got %d"
                .formatted(positions.size(), next));
      }
    }

    /**
     * Returns the state as JSON text, one line.
     *
     * @return the text; {@link #fromJson} returns an equal state
     */
    @Override
    public String toJson() {
      return StreamStateJson.write(this);
    }

    /**
     * Parses a state from JSON text.
     *
     * @param json the text that {@link #toJson} returned; fields may be in another order, with
     *     white space
     * @return the state
     * @throws IllegalArgumentException if the text is not a JSON object, a field is missing,
     *     unknown, duplicate or wrong, or the version is unknown
     */
    public static StreamState fromJson(String json) {
      requireNonNull(json, "json");
      return StreamStateJson.read(json);
    }
  }
}
