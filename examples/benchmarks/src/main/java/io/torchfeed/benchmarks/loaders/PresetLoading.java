// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.io.IOException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.DataLoaderOptions;
import org.bytedeco.pytorch.Example;
import org.bytedeco.pytorch.ExampleVector;
import org.bytedeco.pytorch.ExampleVectorIterator;
import org.bytedeco.pytorch.JavaDataset;
import org.bytedeco.pytorch.JavaRandomDataLoader;
import org.bytedeco.pytorch.RandomSampler;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.SizeTArrayRef;
import org.bytedeco.pytorch.SizeTOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The presets' loader: libtorch's loader, which calls Java for each sample or each batch. */
final class PresetLoading implements Contestant {
  private final Rows rows;
  private final JavaRandomDataLoader loader;

  private PresetLoading(Rows rows, int workers) {
    this.rows = rows;
    DataLoaderOptions options = new DataLoaderOptions(rows.row.batch());
    options.workers().put(workers);
    loader = new JavaRandomDataLoader(rows, new RandomSampler(rows.row.rows()), options);
  }

  /**
   * Loads sample by sample; batches are stacked here, because that loader returns lists of samples.
   */
  static PresetLoading perSample(RowData data, int workers) throws IOException {
    return new PresetLoading(new Samples(data), workers);
  }

  /** Loads whole batches, each as a list of one sample. */
  static PresetLoading wholeBatch(RowData data, int workers) throws IOException {
    return new PresetLoading(new WholeBatches(data), workers);
  }

  /** A dataset that C++ threads call. */
  private abstract static class Rows extends JavaDataset {
    final Row row;
    final Tensor images;
    final Tensor labels;

    Rows(RowData data) throws IOException {
      row = data.row();
      images = data.tensor();
      labels = data.labelTensor();
    }

    /** Returns the rows as the batch needs them. */
    Tensor finished(Tensor bytes) {
      return row == Row.C
          ? bytes
              .to(ScalarType.Float)
              .mul_(new Scalar(1 / (255 * Row.DEVIATION)))
              .sub_(new Scalar(Row.MEAN / Row.DEVIATION))
          : bytes;
    }

    @Override
    public SizeTOptional size() {
      return new SizeTOptional(row.rows());
    }

    /** Passes a batch of the loader to the sink and returns its number of rows. */
    abstract long take(ExampleVector batch, BatchSink sink);
  }

  private static final class Samples extends Rows {
    /** The last sample that a thread returned; the loader has copied it by the next call. */
    private static final ThreadLocal<Example> RETURNED = new ThreadLocal<>();

    Samples(RowData data) throws IOException {
      super(data);
    }

    @Override
    public Example get(long index) {
      try (PointerScope scope = new PointerScope();
          Example before = RETURNED.get()) {
        Example example = new Example(finished(images.select(0, index)), labels.select(0, index));
        example.retainReference();
        scope.detach(example);
        RETURNED.set(example);
        return example;
      }
    }

    @Override
    long take(ExampleVector batch, BatchSink sink) {
      int size = (int) batch.size();
      Tensor[] data = new Tensor[size];
      Tensor[] targets = new Tensor[size];
      for (int i = 0; i < size; i++) {
        Example example = batch.get(i);
        data[i] = example.data();
        targets[i] = example.target();
      }
      sink.take(torch.stack(new TensorVector(data)), torch.stack(new TensorVector(targets)));
      return size;
    }
  }

  private static final class WholeBatches extends Rows {
    /** The last batch that a thread returned; the loader has copied it by the next call. */
    private static final ThreadLocal<ExampleVector> RETURNED = new ThreadLocal<>();

    WholeBatches(RowData data) throws IOException {
      super(data);
    }

    @Override
    public Example get(long index) {
      throw new IllegalStateException("the loader must request batches, got sample " + index);
    }

    @Override
    public ExampleVector get_batch(SizeTArrayRef indices) {
      try (PointerScope scope = new PointerScope();
          ExampleVector before = RETURNED.get()) {
        Tensor index =
            torch.from_blob(
                indices.data(), new long[] {indices.size()}, new TensorOptions(ScalarType.Long));
        Example example =
            new Example(finished(images.index_select(0, index)), labels.index_select(0, index));
        ExampleVector batch = new ExampleVector(example);
        batch.retainReference(); // detach gives up one reference
        scope.detach(batch);
        RETURNED.set(batch);
        return batch;
      }
    }

    @Override
    long take(ExampleVector batch, BatchSink sink) {
      Example example = batch.get(0);
      Tensor targets = example.target();
      sink.take(example.data(), targets);
      return targets.size(0);
    }
  }

  @Override
  public long epoch(long number, BatchSink sink) {
    long seen = 0;
    try (PointerScope pass = new PointerScope();
        ExampleVectorIterator end = loader.end()) {
      for (ExampleVectorIterator at = loader.begin(); !at.equals(end); at.increment()) {
        try (PointerScope batch = new PointerScope()) {
          seen += rows.take(at.access(), sink);
        }
      }
    }
    return seen;
  }

  @Override
  public void close() {
    loader.close();
    rows.close();
  }
}
