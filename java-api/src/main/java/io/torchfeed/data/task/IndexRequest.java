// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.data.SampleException;
import io.torchfeed.internal.HeapMemory;
import org.jspecify.annotations.Nullable;

/** The index list of a batch, from its request until the batch has ended; reused after that. */
public final class IndexRequest implements BatchRequest {
  /** The checked dataset indices; the first {@link #size} are valid. */
  public final long[] indices;

  public long epoch;

  /** The number of the batch in its epoch. */
  public long batch;

  public int size;

  /** The reason why the batch is not requested of the engine but fails when it is next. */
  public @Nullable SampleException failure;

  /**
   * Creates a list.
   *
   * @throws IllegalStateException if the heap is too small for it
   */
  public IndexRequest(int maxBatchSize) {
    indices = HeapMemory.array("indices of a batch", maxBatchSize, long[]::new);
  }
}
