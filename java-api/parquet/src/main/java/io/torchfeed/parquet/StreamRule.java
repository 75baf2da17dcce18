// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.reader.FilterPredicate;
import io.torchfeed.parquet.StorePlan.Piece;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Which rows a stream has, and in which order.
 *
 * @param plan of the columns and row groups
 * @param shards their number
 * @param isShuffled whether row groups and windows are shuffled
 * @param window the most rows that are shuffled at once
 * @param seed of the orders
 * @param filter of the rows; null for all
 */
record StreamRule(
    StorePlan plan,
    int shards,
    boolean isShuffled,
    int window,
    long seed,
    @Nullable FilterPredicate filter) {
  /** Returns all rows in the order of the files. */
  static StreamRule of(StorePlan plan, int shards) {
    return new StreamRule(plan, shards, false, 1, 0, null);
  }

  StreamRule shuffled(int most, long number) {
    return new StreamRule(plan, shards, true, most, number, filter);
  }

  StreamRule filtered(FilterPredicate rows) {
    return new StreamRule(plan, shards, isShuffled, window, seed, rows);
  }

  /** Returns how many rows are read at once. */
  int batchRows() {
    int most = plan.batchRows();
    return isShuffled ? window / Math.ceilDiv(window, most) : most;
  }

  /** Returns the most rows of a window: as many whole batches as it holds. */
  int windowRows() {
    return isShuffled ? window / batchRows() * batchRows() : batchRows();
  }

  /**
   * Returns the row groups of a shard in their order. The groups of an epoch are assigned to the
   * shards one by one, each to the one with the fewest rows.
   */
  List<Piece> pieces(long epoch, int shard) {
    int count = plan.pieces().size();
    LongStream order =
        isShuffled ? ShuffledSampler.of(count, seed).indices(epoch) : LongStream.range(0, count);
    long[] rows = new long[shards];
    List<Piece> own = new ArrayList<>();
    order.forEach(
        number -> {
          Piece piece = plan.pieces().get((int) number);
          int least = least(rows);
          rows[least] += piece.group().rows();
          if (least == shard) {
            own.add(piece);
          }
        });
    return List.copyOf(own);
  }

  private static int least(long[] rows) {
    int least = 0;
    for (int i = 1; i < rows.length; i++) {
      if (rows[i] < rows[least]) {
        least = i;
      }
    }
    return least;
  }
}
