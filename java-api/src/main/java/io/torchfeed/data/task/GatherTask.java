// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.bindings.Door;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowReader;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.SampleException;
import io.torchfeed.memory.Slab;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A task that lets native code gather the rows of an index list, in one call. */
public final class GatherTask extends IndexTask {
  private final NativeHandle<RowSet> rowSet;
  private final AtomicReference<@Nullable NativeHandle<RowReader>> gathering =
      new AtomicReference<>();
  private long[] wanted; // the indices without those left out
  private int @Nullable [] attempts; // failed attempts, by position in the index list

  /** Creates a task that is not begun. */
  GatherTask(NativeHandle<RowSet> rowSet, IndexRequest request) {
    super(request);
    this.rowSet = rowSet;
    wanted = indices;
  }

  /** Returns the tasks that let native code gather rows, which the caller closes. */
  public static Function<IndexRequest, BatchTask> gathering(NativeHandle<RowSet> rows) {
    return request -> new GatherTask(rows, request);
  }

  /** Cancels the batch. Its reader is stopped for good: the next batch opens another one. */
  @Override
  public void cancel() {
    super.cancel();
    stopGathering();
  }

  private void stopGathering() {
    NativeHandle<RowReader> reader = gathering.getAndSet(null); // only one thread stops it
    if (reader != null) {
      reader.run(RowReader::stop);
      reader.close();
    }
  }

  @Override
  void fillRows(Slab into, Worker by) {
    rows = size;
    NativeHandle<RowReader> reader = by.reader(rowSet);
    gathering.set(reader);
    if (cancelled) { // perhaps before the reader could be seen
      stopGathering();
      return;
    }
    reader.run(native_ -> native_.draw_for(by.options().seed(), epoch));
    boolean isWhole = false;
    try {
      while (rows > 0 && !isWhole && failure == null && !cancelled) {
        isWhole = gather(into, reader, by.options().onFailure());
      }
    } finally {
      gathering.set(null);
    }
    if (failure == null && !cancelled) {
      transform(into, by.options());
    }
  }

  /** Gathers the rows; returns false if one cannot be read, after applying the policy. */
  private boolean gather(Slab into, NativeHandle<RowReader> reader, FailurePolicy policy) {
    try {
      return Door.SLAB
          .of(into)
          .call(slab -> reader.call(native_ -> native_.gather(wanted, rows, slab)));
    } catch (NativeException e) {
      if (e.code() != NativeException.Code.UNREADABLE) {
        throw e;
      }
      failed((int) reader.callLong(RowReader::unreadable), e, policy);
      return false;
    }
  }

  private void failed(int row, NativeException e, FailurePolicy policy) {
    int element = elements == null ? row : elements[row];
    int[] counts = attempts == null ? new int[size] : attempts;
    attempts = counts;
    if (counts[element]++ < policy.retries()) {
      return;
    }
    if (policy.skip()) {
      skip(indices[element], String.valueOf(e.getMessage()));
      leaveOut(row);
    } else {
      failure =
          new SampleException(indices[element], epoch, batch, String.valueOf(e.getMessage()), e);
    }
  }

  private void leaveOut(int row) {
    int[] kept = elements;
    if (kept == null) {
      kept = new int[size];
      Arrays.setAll(kept, i -> i);
      elements = kept;
      wanted = Arrays.copyOf(indices, size);
    }
    rows--;
    System.arraycopy(kept, row + 1, kept, row, rows - row);
    System.arraycopy(wanted, row + 1, wanted, row, rows - row);
  }

  @Override
  void report(LoaderMeter meter) {
    meter.worked(nanos, epoch, batch, nanos);
  }
}
