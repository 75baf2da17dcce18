// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.translate.Batchifier;

/**
 * DJL's ArrayDataset with a faster gather: an NDIndex maps to libtorch's {@code index}, which is
 * slow for whole rows, and the embedding operator is DJL's only route to {@code index_select}.
 */
final class EmbeddingDataset extends ArrayDataset {
  private final NDArray data;
  private final NDArray labels;
  private final Shape rowShape;

  EmbeddingDataset(Builder builder, NDArray data, NDArray labels) {
    super(builder);
    this.data = data.reshape(data.size(0), -1);
    this.labels = labels.reshape(-1, 1);
    rowShape = data.getShape().slice(1);
  }

  @Override
  public Batch getByIndices(NDManager manager, long... indices) {
    Shape shape = new Shape(indices.length).addAll(rowShape);
    try (NDArray index = manager.create(indices)) {
      return new Batch(
          manager,
          new NDList(rows(data, index, shape)),
          new NDList(rows(labels, index, new Shape(indices.length))),
          indices.length,
          Batchifier.STACK,
          Batchifier.STACK,
          -1,
          -1);
    }
  }

  private static NDArray rows(NDArray table, NDArray index, Shape shape) {
    NDList rows = table.getNDArrayInternal().embedding(index, table, SparseFormat.DENSE);
    try (NDArray flat = rows.singletonOrThrow()) {
      return flat.reshape(shape);
    }
  }
}
