// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.data.source.RowLayout;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.RowTransform;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** torchfeed's loader with either engine. */
final class TorchfeedLoading implements Contestant {
  static final long SEED = 1;

  private static final RowTransform NORMALIZE =
      RowTransform.builder()
          .scale(1f / 255f)
          .normalize(new float[] {Row.MEAN}, new float[] {Row.DEVIATION})
          .build();

  private final DataLoader loader;
  private final boolean labelled;

  private TorchfeedLoading(DataLoaderBuilder builder, Row row, int workers, boolean labelled) {
    loader =
        builder
            .sampler(ShuffledSampler.of(row.rows(), SEED))
            .batchSize(row.batch())
            .workers(workers)
            .build();
    this.labelled = labelled;
  }

  /**
   * Returns a loader with the native engine over tensors, which it normalizes in row C, or over a
   * file in row D.
   */
  static TorchfeedLoading nativeEngine(RowData data, int workers) throws IOException {
    Row row = data.row();
    if (row == Row.D) {
      RowLayout layout = RowLayout.of(DType.UINT8, row.shape());
      try (FileDataset rows = FileDataset.of(FileColumn.raw(layout, data.file()))) {
        return new TorchfeedLoading(DataLoader.over(rows), row, workers, false);
      }
    }
    try (Tensor labels = data.labelTensor();
        TensorDataset rows = TensorDataset.of(data.tensor(), labels)) {
      if (row == Row.C) {
        try (NativeDataset normalized = rows.transform(0, NORMALIZE)) {
          return new TorchfeedLoading(DataLoader.over(normalized), row, workers, true);
        }
      }
      return new TorchfeedLoading(DataLoader.over(rows), row, workers, true);
    }
  }

  /** Returns a loader with the Java engine over code that reads arrays in the Java heap. */
  static TorchfeedLoading javaEngine(RowData data, int workers) throws IOException {
    Row row = data.row();
    Dataset samples =
        row == Row.C
            ? new NormalizedSamples(row, data.bytes(), data.labels())
            : new FloatSamples(row, data.floats(), data.labels());
    return new TorchfeedLoading(DataLoader.over(samples), row, workers, true);
  }

  @Override
  public long epoch(long number, BatchSink sink) {
    long rows = 0;
    try (Batches batches = loader.epoch(number)) {
      for (Batch batch : batches) {
        rows += batch.size();
        sink.take(batch.tensor(0), labelled ? batch.tensor(1) : null);
      }
    }
    return rows;
  }

  @Override
  public void close() {
    loader.close();
  }

  private static List<RowSpec> columns(Row row) {
    return List.of(RowSpec.of(DType.FLOAT32, row.shape()), RowSpec.of(DType.INT64));
  }

  /** A dataset of floats, copied unchanged. */
  private static final class FloatSamples implements Dataset {
    private final Row row;
    private final float[] images;
    private final long[] labels;

    FloatSamples(Row row, float[] images, long[] labels) {
      this.row = row;
      this.images = images;
      this.labels = labels;
    }

    @Override
    public long size() {
      return row.rows();
    }

    @Override
    public List<RowSpec> columns() {
      return TorchfeedLoading.columns(row);
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.put(0, images, (int) index * row.width(), row.width());
      sample.putLong(1, labels[(int) index]);
    }
  }
}
