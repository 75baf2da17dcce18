// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.sampler.PlanParameters;
import org.jspecify.annotations.Nullable;

/** Streams of objects with a mapper applied to each. */
record MappedStreamDataset<T, R>(
    ObjectStreamDataset<T> objects, ObjectDataset.Mapper<? super T, ? extends R> mapper)
    implements ObjectStreamDataset<R> {
  @Override
  public int shards() {
    return objects.shards();
  }

  @Override
  public PlanParameters parameters() {
    return objects.parameters();
  }

  @Override
  public ObjectStreamDataset.ObjectStream<R> open(long epoch, int shard, @Nullable String position)
      throws Exception {
    return new Mapped<>(objects.open(epoch, shard, position), mapper);
  }

  private record Mapped<T, R>(
      ObjectStreamDataset.ObjectStream<T> stream,
      ObjectDataset.Mapper<? super T, ? extends R> mapper)
      implements ObjectStreamDataset.ObjectStream<R> {
    @Override
    public @Nullable R next() throws Exception {
      T object = stream.next();
      return object == null ? null : mapper.map(object);
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
