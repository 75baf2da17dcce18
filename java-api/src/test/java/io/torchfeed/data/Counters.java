// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Sample i of shard s is 1000·s + i, beside a random number; something may happen before a sample.
 * Counts the streams that are open, and refuses two threads in one stream.
 */
record Counters(Deed deed, AtomicInteger open, List<Integer> lengths) implements StreamDataset {
  /** What happens before a sample. */
  interface Deed {
    void run(long value, Place place) throws Exception;
  }

  /** Where a stream is. */
  static final class Place {
    long next;
  }

  /** What a pass delivered: of each batch its values. */
  record Feed(List<List<Long>> values, List<List<Long>> random, List<List<Long>> indices) {}

  static Counters of(int... lengths) {
    return with((value, place) -> {}, lengths);
  }

  static Counters with(Deed deed, int... lengths) {
    return new Counters(deed, new AtomicInteger(), Arrays.stream(lengths).boxed().toList());
  }

  @Override
  public int shards() {
    return lengths.size();
  }

  @Override
  public List<RowSpec> columns() {
    return List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.INT64));
  }

  @Override
  public SampleStream open(long epoch, int shard, @Nullable String position) {
    open.incrementAndGet();
    Place place = new Place();
    place.next = position == null ? 0 : Long.parseLong(position);
    return new SampleStream() {
      private final AtomicBoolean inside = new AtomicBoolean();

      @Override
      public boolean next(SampleWriter sample) throws Exception {
        assertThat(inside.compareAndSet(false, true)).isTrue();
        try {
          if (place.next == lengths.get(shard)) {
            return false;
          }
          long value = 1000L * shard + place.next;
          deed.run(value, place);
          place.next++;
          sample.putLong(0, value);
          sample.putLong(1, sample.random().nextLong());
          return true;
        } finally {
          inside.set(false);
        }
      }

      @Override
      public String position() {
        return Long.toString(place.next);
      }

      @Override
      public void close() {
        assertThat(inside).isFalse();
        open.decrementAndGet();
      }
    };
  }

  /** The slow, obvious order: batch k of each shard of a rank, then batch k + 1. */
  List<List<Long>> expected(int batchSize, int rank, int worldSize) {
    List<List<Long>> batches = new ArrayList<>();
    for (int first = 0; first < 1000; first += batchSize) {
      for (int shard = rank; shard < lengths.size(); shard += worldSize) {
        List<Long> batch = new ArrayList<>();
        for (int i = first; i < Math.min(first + batchSize, lengths.get(shard)); i++) {
          batch.add(1000L * shard + i);
        }
        if (!batch.isEmpty()) {
          batches.add(batch);
        }
      }
    }
    return batches;
  }

  static Feed feed(StreamBatches pass) {
    Feed feed = new Feed(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    try (pass) {
      for (Batch batch : pass) {
        assertThat(batch.index()).isEqualTo(pass.position() - 1);
        feed.values.add(longs(batch, 0));
        feed.random.add(longs(batch, 1));
        List<Long> indices = new ArrayList<>();
        for (long index : batch.indices()) {
          indices.add(index);
        }
        feed.indices.add(indices);
      }
    }
    return feed;
  }

  static List<Long> longs(Batch batch, int column) {
    List<Long> values = new ArrayList<>();
    for (long value : Rows.longs(batch.tensor(column))) {
      values.add(value);
    }
    assertThat(values).hasSize(batch.size());
    return values;
  }
}
