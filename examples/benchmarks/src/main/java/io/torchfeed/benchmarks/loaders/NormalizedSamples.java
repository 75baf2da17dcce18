// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.List;

/**
 * A dataset of bytes in the Java heap; one callback per sample turns them into normalized floats.
 */
final class NormalizedSamples implements Dataset {
  private static final float[] NORMALIZED = RowData.normalized();

  private final Row row;
  private final byte[] images;
  private final long[] labels;
  private final ThreadLocal<Scratch> scratch;

  NormalizedSamples(Row row, byte[] images, long[] labels) {
    this.row = row;
    this.images = images;
    this.labels = labels;
    scratch = ThreadLocal.withInitial(() -> new Scratch(row.width()));
  }

  /** The buffers of one thread. */
  private static final class Scratch {
    final byte[] bytes;
    final float[] floats;

    Scratch(int width) {
      bytes = new byte[width];
      floats = new float[width];
    }
  }

  @Override
  public long size() {
    return row.rows();
  }

  @Override
  public List<RowSpec> columns() {
    return List.of(RowSpec.of(DType.FLOAT32, row.shape()), RowSpec.of(DType.INT64));
  }

  @Override
  public void read(long index, SampleWriter sample) {
    Scratch own = scratch.get();
    // The row is a cache miss: a bulk copy fetches its cache lines in parallel.
    System.arraycopy(images, (int) index * own.bytes.length, own.bytes, 0, own.bytes.length);
    for (int i = 0; i < own.floats.length; i++) {
      own.floats[i] = NORMALIZED[own.bytes[i] & 0xFF];
    }
    sample.put(0, own.floats);
    sample.putLong(1, labels[(int) index]);
  }
}
