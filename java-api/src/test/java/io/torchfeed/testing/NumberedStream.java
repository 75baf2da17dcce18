// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A stream of inputs and labels in shards of different lengths.
 *
 * @param lengths the samples of each shard
 */
public record NumberedStream(List<Integer> lengths) implements StreamDataset {
  @Override
  public int shards() {
    return lengths.size();
  }

  @Override
  public List<RowSpec> columns() {
    return List.of(RowSpec.of(DType.FLOAT32, 4), RowSpec.of(DType.INT64));
  }

  /** Returns the numbers of all samples, as batches have them. */
  public List<Long> samples() {
    List<Long> all = new ArrayList<>();
    for (int shard = 0; shard < shards(); shard++) {
      for (long i = 0; i < lengths.get(shard); i++) {
        all.add(i * shards() + shard);
      }
    }
    return all;
  }

  @Override
  public SampleStream open(long epoch, int shard, @Nullable String position) {
    return new SampleStream() {
      private long next = position == null ? 0 : Long.parseLong(position);

      @Override
      public boolean next(SampleWriter sample) {
        if (next == lengths.get(shard)) {
          return false;
        }
        long number = next * shards() + shard;
        float value = (float) Math.sin(7.3 * number + epoch);
        sample.put(0, new float[] {value, value * value, 1 - value, number % 5});
        sample.putLong(1, number % 3);
        next++;
        return true;
      }

      @Override
      public String position() {
        return Long.toString(next);
      }
    };
  }
}
