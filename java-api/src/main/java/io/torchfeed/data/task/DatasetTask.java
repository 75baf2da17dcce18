// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleException;
import io.torchfeed.internal.Failures;
import io.torchfeed.memory.Slab;
import java.util.Arrays;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A task that reads the samples of an index list from a dataset, one by one. */
public final class DatasetTask extends IndexTask {
  private final Dataset dataset;

  /** Creates a task that is not begun. */
  DatasetTask(Dataset dataset, IndexRequest request) {
    super(request);
    this.dataset = dataset;
  }

  /** Returns the tasks that read the samples of a dataset. */
  public static Function<IndexRequest, BatchTask> reading(Dataset dataset) {
    return request -> new DatasetTask(dataset, request);
  }

  @Override
  void fillRows(Slab into, Worker by) {
    TaskOptions options = by.options();
    SlabSampleWriter writer = by.writer();
    writer.beginBatch(into);
    for (int element = 0; element < size && !cancelled; element++) {
      Throwable thrown = read(element, into, options, writer);
      if (thrown == null) {
        if (elements != null) {
          elements[rows] = element;
        }
        rows++;
      } else if (cancelled) {
        return;
      } else if (options.onFailure().skip()) {
        skip(indices[element], Failures.describe(thrown));
        if (elements == null) {
          elements = new int[size];
          Arrays.setAll(elements, i -> i);
        }
      } else {
        failure = new SampleException(indices[element], epoch, batch, worker(), thrown);
        return;
      }
    }
    finish(into, by);
  }

  /** Reads a sample; returns the exception of the last attempt, or null. */
  private @Nullable Throwable read(
      int element, Slab into, TaskOptions options, SlabSampleWriter writer) {
    long index = indices[element];
    Throwable thrown = null;
    for (int attempt = 0; attempt <= options.onFailure().retries() && !cancelled; attempt++) {
      beginSample(index);
      thrown = null;
      try {
        writer.begin(into, rows, options.seed(), epoch, index);
        dataset.read(index, writer);
        writer.end();
        return null;
      } catch (Throwable e) {
        thrown = e;
      } finally {
        writer.abandon();
        endInterrupt(thrown);
      }
    }
    return thrown;
  }
}
