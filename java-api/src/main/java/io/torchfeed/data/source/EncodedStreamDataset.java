// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.VariableLength;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.PlanParameters;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A dataset of streams of objects that a collator writes as samples. */
record EncodedStreamDataset<T>(ObjectStreamDataset<T> objects, SampleEncoder<? super T> collator)
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
  public StreamDataset.SampleStream open(long epoch, int shard, @Nullable String position)
      throws Exception {
    return new Samples<>(objects.open(epoch, shard, position), collator);
  }

  private record Samples<T>(
      ObjectStreamDataset.ObjectStream<T> stream, SampleEncoder<? super T> collator)
      implements StreamDataset.SampleStream {
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
