// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.data.SampleException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A task that fills a batch with the samples of an index list. */
abstract class IndexTask extends BatchTask {
  /** An array that begins with the dataset indices of the batch. */
  final long[] indices;

  /** The number of indices, at least 1. */
  final int size;

  /** The failure of the sample that cost the batch. */
  @Nullable SampleException failure;

  IndexTask(IndexRequest request) {
    super(request.epoch, request.batch);
    indices = request.indices;
    size = request.size;
  }

  @Override
  final long firstSample() {
    return indices[0];
  }

  @Override
  public final long[] samples() {
    int[] kept = elements;
    return kept == null
        ? Arrays.copyOf(indices, rows)
        : Arrays.stream(kept, 0, rows).mapToLong(element -> indices[element]).toArray();
  }

  @Override
  public final @Nullable SampleException failure(long number) {
    return failure;
  }
}
