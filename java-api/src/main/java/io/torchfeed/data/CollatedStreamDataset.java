// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.PlanParameters;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Streams of objects with a collator. */
record CollatedStreamDataset<T>(ObjectStreamDataset<T> objects, Collator<? super T> collator)
    implements StreamDataset {
  @Override
  public int shards() {
    return objects.shards();
  }

  @Override
  public List<RowSpec> columns() {
    return collator.columns();
  }

  @Override
  public List<VariableLength> variableLengths() {
    return collator.variableLengths();
  }

  @Override
  public PlanParameters parameters() {
    return objects.parameters();
  }

  @Override
  public SampleStream open(long epoch, int shard, @Nullable String position) throws Exception {
    return new Samples<>(objects.open(epoch, shard, position), collator);
  }

  private record Samples<T>(ObjectStream<T> stream, Collator<? super T> collator)
      implements SampleStream {
    @Override
    public boolean next(SampleWriter sample) throws Exception {
      T object = stream.next();
      if (object == null) {
        return false;
      }
      collator.write(object, sample);
      return true;
    }

    @Override
    public String position() throws Exception {
      return stream.position();
    }

    @Override
    public void close() throws Exception {
      stream.close();
    }
  }
}
