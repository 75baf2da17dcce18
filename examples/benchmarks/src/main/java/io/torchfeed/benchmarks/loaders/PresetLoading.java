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
import org.bytedeco.pytorch.SizeTOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The loader of the presets: libtorch's, which calls Java for each sample; the batch is stacked
 * here, since that loader brings lists of samples.
 */
final class PresetLoading implements Contestant {
  private final Row row;
  private final Samples samples;
  private final JavaRandomDataLoader loader;

  PresetLoading(RowData data, int workers) throws IOException {
    row = data.row();
    samples = new Samples(data);
    DataLoaderOptions options = new DataLoaderOptions(row.batch());
    options.workers().put(workers);
    loader = new JavaRandomDataLoader(samples, new RandomSampler(row.rows()), options);
  }

  /** The data set, called from C++ threads. */
  private static final class Samples extends JavaDataset {
    private final Row row;
    private final Tensor images;
    private final Tensor labels;

    Samples(RowData data) throws IOException {
      row = data.row();
      images = data.tensor();
      labels = data.labelTensor();
    }

    @Override
    public Example get(long index) {
      Tensor image = images.select(0, index);
      if (row == Row.C) {
        image =
            image
                .to(ScalarType.Float)
                .mul_(new Scalar(1 / (255 * Row.DEVIATION)))
                .sub_(new Scalar(Row.MEAN / Row.DEVIATION));
      }
      return new Example(image, labels.select(0, index));
    }

    @Override
    public SizeTOptional size() {
      return new SizeTOptional(row.rows());
    }
  }

  @Override
  public long epoch(long number, BatchSink sink) {
    long rows = 0;
    try (PointerScope pass = new PointerScope();
        ExampleVectorIterator end = loader.end()) {
      for (ExampleVectorIterator at = loader.begin(); !at.equals(end); at.increment()) {
        rows += take(at.access(), sink);
      }
    }
    return rows;
  }

  private static long take(ExampleVector batch, BatchSink sink) {
    int size = (int) batch.size();
    try (PointerScope scope = new PointerScope()) {
      Tensor[] data = new Tensor[size];
      Tensor[] targets = new Tensor[size];
      for (int i = 0; i < size; i++) {
        Example example = batch.get(i);
        data[i] = example.data();
        targets[i] = example.target();
      }
      sink.take(torch.stack(new TensorVector(data)), torch.stack(new TensorVector(targets)));
    }
    return size;
  }

  @Override
  public void close() {
    loader.close();
    samples.close();
  }
}
