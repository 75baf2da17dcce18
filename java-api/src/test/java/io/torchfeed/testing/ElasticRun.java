// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.ResumableCursor;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.SamplerState;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.SamplerFamilies.Divided;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * One epoch delivered by several world sizes, one after the other. Immutable.
 *
 * @param delivered the indices delivered, without padding
 * @param state the progress of the epoch; null at its start
 */
public record ElasticRun(
    Divided family,
    long datasetSize,
    Tail tail,
    long seed,
    long epoch,
    List<Long> delivered,
    @Nullable SamplerState state) {

  public static ElasticRun start(
      Divided family, long datasetSize, Tail tail, long seed, long epoch) {
    return new ElasticRun(family, datasetSize, tail, seed, epoch, List.of(), null);
  }

  /** Returns the run after each rank has delivered {@code count} more indices, or all it has. */
  public ElasticRun deliver(int worldSize, long count) {
    List<Long> all = new ArrayList<>(delivered);
    SamplerState after = null;
    for (int rank = 0; rank < worldSize; rank++) {
      Sampler plan = family.plan(datasetSize, new Part(worldSize, rank), tail, seed);
      try (ResumableCursor.OfIndices cursor =
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

  /** Returns the number of samples that no rank has delivered yet. */
  long left() {
    return datasetSize - delivered.size();
  }

  /**
   * Requires that the epoch has delivered each sample once, apart from a dropped tail.
   *
   * @param before the run before the last world size
   * @param worldSize the last world size
   */
  public void requireLaw(ElasticRun before, int worldSize) {
    requireLaw(
        delivered.stream().mapToLong(Long::longValue).toArray(),
        datasetSize,
        tail,
        Math.min(before.left(), worldSize - 1L));
  }

  /** Requires each sample at most once, and at most {@code dropped} samples never. */
  public static void requireLaw(long[] seen, long n, Tail tail, long dropped) {
    assertThat(seen).doesNotHaveDuplicates();
    if (tail == Tail.DROP) {
      assertThat(n - seen.length).isBetween(0L, dropped);
      assertThat(LongStream.of(seen)).allMatch(index -> index >= 0 && index < n);
    } else {
      assertThat(LongStream.of(seen).sorted().toArray())
          .isEqualTo(LongStream.range(0, n).toArray());
    }
  }
}
