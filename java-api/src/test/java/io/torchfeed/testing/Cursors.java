// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Sampler;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** Helpers that read samplers. */
public final class Cursors {
  private Cursors() {}

  public static long[] indices(Sampler sampler, long epoch) {
    try (Cursor cursor = sampler.epoch(epoch)) {
      return rest(cursor);
    }
  }

  public static long[] withoutPadding(Sampler sampler, long epoch) {
    try (Cursor cursor = sampler.epoch(epoch)) {
      long[] all = rest(cursor);
      return IntStream.range(0, all.length)
          .filter(position -> !cursor.isPadding(position))
          .mapToLong(position -> all[position])
          .toArray();
    }
  }

  public static long[] rest(Cursor cursor) {
    return next(cursor, Math.toIntExact(cursor.remaining()));
  }

  public static long[] next(Cursor cursor, int count) {
    long[] indices = new long[count];
    int read = count == 0 ? 0 : cursor.next(indices, 0, count);
    return Arrays.copyOf(indices, read);
  }

  public static List<long[]> batches(Cursor cursor, int batchSize) {
    List<long[]> batches = new ArrayList<>();
    for (long[] batch = next(cursor, batchSize);
        batch.length > 0;
        batch = next(cursor, batchSize)) {
      batches.add(batch);
    }
    return batches;
  }

  /** Returns the hash of the golden files, {@code h = 31h + x}. */
  public static long hash(long[] indices) {
    long hash = 0;
    for (long index : indices) {
      hash = 31 * hash + index;
    }
    return hash;
  }
}
