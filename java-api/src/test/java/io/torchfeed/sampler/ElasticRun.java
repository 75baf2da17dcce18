// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.sampler.SamplerFamilies.Divided;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One epoch that several numbers of ranks deliver, one after the other. Immutable.
 *
 * @param delivered what was delivered and is not padding
 * @param state how far the epoch has got; null at its start
 */
record ElasticRun(
    Divided family,
    long datasetSize,
    Tail tail,
    long seed,
    long epoch,
    List<Long> delivered,
    @Nullable SamplerState state) {

  static ElasticRun start(Divided family, long datasetSize, Tail tail, long seed, long epoch) {
    return new ElasticRun(family, datasetSize, tail, seed, epoch, List.of(), null);
  }

  /** The run after each rank has delivered that many indices more, or all that it has. */
  ElasticRun deliver(int worldSize, long count) {
    List<Long> all = new ArrayList<>(delivered);
    SamplerState after = null;
    for (int rank = 0; rank < worldSize; rank++) {
      DistributedSampler plan = family.plan(datasetSize, worldSize, rank, tail, seed);
      try (ResumableCursor cursor =
          state == null ? ResumableCursor.open(plan, epoch) : state.resume(plan)) {
        addDelivered(cursor, count, all);
        if (after == null) {
          after = SamplerState.fromJson(cursor.state().toJson());
        } else if (tail != Tail.UNEVEN) {
          assertThat(cursor.state()).isEqualTo(after);
        }
      }
    }
    return new ElasticRun(family, datasetSize, tail, seed, epoch, all, after);
  }

  private static void addDelivered(Cursor cursor, long count, List<Long> all) {
    long start = cursor.position();
    long[] indices = Cursors.next(cursor, (int) Math.min(count, cursor.remaining()));
    for (int i = 0; i < indices.length; i++) {
      if (!cursor.isPadding(start + i)) {
        all.add(indices[i]);
      }
    }
  }

  /** How many samples nobody has delivered yet. */
  long left() {
    return datasetSize - delivered.size();
  }

  /**
   * Requires that the epoch is over with each sample once, but for a dropped tail.
   *
   * @param before the run before the last number of ranks
   * @param worldSize the last number of ranks
   */
  void requireLaw(ElasticRun before, int worldSize) {
    SamplerContractTest.requireLaw(
        delivered.stream().mapToLong(Long::longValue).toArray(),
        datasetSize,
        tail,
        Math.min(before.left(), worldSize - 1L));
  }
}
