// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Sampler;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.LongStream;

/** Checks that every padding plan over several ranks must pass. */
public final class Elastic {
  private static final long EPOCH = 1;

  private Elastic() {}

  /**
   * Lets the first ranks deliver a part and the second ranks the rest, and asserts that apart from
   * padding every sample is delivered once.
   *
   * @param delivered the number that each of the first ranks delivers, at most its size
   */
  public static void assertEverySampleOnce(
      IntFunction<Sampler> before, IntFunction<Sampler> after, int datasetSize, int delivered) {
    List<Long> seen = new ArrayList<>();
    int part = (int) Math.min(delivered, before.apply(0).size());
    for (int rank = 0; rank < before.apply(0).part().worldSize(); rank++) {
      try (Cursor cursor = before.apply(rank).epoch(EPOCH)) {
        read(cursor, part, seen);
      }
    }
    int ranks = after.apply(0).part().worldSize();
    List<EpochSegment> segments =
        List.of(new EpochSegment(before.apply(0).part().worldSize(), part));
    long[] sizes = new long[ranks];
    for (int rank = 0; rank < ranks; rank++) {
      try (Cursor cursor = after.apply(rank).resume(EPOCH, segments)) {
        sizes[rank] = cursor.remaining();
        read(cursor, (int) sizes[rank], seen);
      }
    }
    assertThat(seen)
        .containsExactlyInAnyOrderElementsOf(LongStream.range(0, datasetSize).boxed().toList());
    assertThat(Arrays.stream(sizes).distinct()).hasSize(1);
  }

  /** Reads the plan from every position. */
  public static void assertSeekEqualsSkip(Sampler plan, long epoch) {
    long[] all = Cursors.indices(plan, epoch);
    try (Cursor cursor = plan.epoch(epoch)) {
      for (int position = all.length; position >= 0; position--) {
        cursor.seek(position);
        assertThat(Cursors.rest(cursor)).isEqualTo(Arrays.copyOfRange(all, position, all.length));
      }
    }
  }

  private static void read(Cursor cursor, int count, List<Long> seen) {
    long start = cursor.position();
    long[] indices = Cursors.next(cursor, count);
    for (int i = 0; i < indices.length; i++) {
      if (!cursor.isPadding(start + i)) {
        seen.add(indices[i]);
      }
    }
  }
}
