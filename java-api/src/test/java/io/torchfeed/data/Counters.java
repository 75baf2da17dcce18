// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.Part;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A dataset whose sample i of shard s is 1000·s + i, with a random number in a second column; an
 * action may run before a sample. Counts the open streams, and refuses two threads in one stream.
 */
public record Counters(Deed deed, AtomicInteger open, List<Integer> lengths)
    implements StreamDataset {
  /** An action that runs before a sample. */
  public interface Deed {
    void run(long value, Place place) throws Exception;
  }

  /** The position of a stream. */
  public static final class Place {
    long next;

    private Place() {}
  }

  /** The contents of a pass: the values of each batch. */
  public record Delivered(
      List<List<Long>> values, List<List<Long>> random, List<List<Long>> indices) {}

  public static Counters of(int... lengths) {
    return with((value, place) -> {}, lengths);
  }

  public static Counters with(Deed deed, int... lengths) {
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
  public StreamDataset.SampleStream open(long epoch, int shard, @Nullable String position) {
    open.incrementAndGet();
    Place place = new Place();
    place.next = position == null ? 0 : Long.parseLong(position);
    return new StreamDataset.SampleStream() {
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

  /** Returns the order, computed naively: batch k of each shard of a rank, then batch k + 1. */
  public List<List<Long>> expected(int batchSize, Part part) {
    List<List<Long>> batches = new ArrayList<>();
    for (int first = 0; first < 1000; first += batchSize) {
      for (int shard = part.rank(); shard < lengths.size(); shard += part.worldSize()) {
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

  public static Delivered delivered(Batches pass) {
    Delivered delivered = new Delivered(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    try (pass) {
      for (Batch batch : pass) {
        assertThat(batch.number()).isEqualTo(pass.position() - 1);
        delivered.values.add(longs(batch, 0));
        delivered.random.add(longs(batch, 1));
        List<Long> indices = new ArrayList<>();
        for (long index : batch.indices()) {
          indices.add(index);
        }
        delivered.indices.add(indices);
      }
    }
    return delivered;
  }

  public static List<Long> longs(Batch batch, int column) {
    List<Long> values = new ArrayList<>();
    for (long value : Rows.longs(batch.tensor(column))) {
      values.add(value);
    }
    assertThat(values).hasSize(batch.size());
    return values;
  }
}
