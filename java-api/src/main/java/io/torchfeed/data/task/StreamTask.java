// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.SampleException;
import io.torchfeed.internal.Failures;
import io.torchfeed.memory.Slab;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A task that fills a batch with the next samples of one shard. Its results are read only once it
 * is done.
 */
public final class StreamTask extends BatchTask {
  private final StreamShard shard;
  private final int batchSize;
  private final boolean dropLast;
  private final long[] sampleOfRow; // by row
  private final int[] attempts; // failed attempts, by position in the batch
  private long first; // first sample of the batch
  private int covered; // positions in the batch that are read or given up
  private int read; // samples that the last read has written
  private boolean isAtEnd;
  private @Nullable Throwable last; // last failure of a sample

  /** The position of the shard after this batch; null if the shard was not read. */
  public LoaderState.@Nullable ShardPosition after;

  private @Nullable Throwable thrown; // failure of the sample that cost the batch
  private long thrownAt;

  public StreamTask(long epoch, long batch, StreamShard shard, int batchSize, boolean dropLast) {
    super(epoch, batch);
    this.shard = shard;
    this.batchSize = batchSize;
    this.dropLast = dropLast;
    sampleOfRow = new long[batchSize];
    attempts = new int[batchSize];
  }

  @Override
  public boolean isReady() {
    return !shard.running;
  }

  @Override
  public void begin() {
    shard.running = true;
  }

  @Override
  public void end() {
    shard.running = false;
    super.end();
  }

  public int shardNumber() {
    return shard.number();
  }

  /** Returns the next number: only then is it known which earlier requests were for nothing. */
  @Override
  public long number(long due) {
    return due;
  }

  @Override
  public @Nullable SampleException failure(long number) {
    return thrown == null ? null : new SampleException(thrownAt, epoch, number, worker(), thrown);
  }

  /** Returns whether the shard had no samples left for this batch. */
  @Override
  public boolean isNothing() {
    return thrown == null
        && error == null
        && (covered == 0 || (dropLast && isAtEnd && covered < batchSize));
  }

  @Override
  public long[] samples() {
    return Arrays.copyOf(sampleOfRow, rows);
  }

  @Override
  void fillRows(Slab into, Worker by) {
    if (!shard.enter()) {
      return; // the pass is over
    }
    try {
      if (!shard.isOver()) {
        read(into, by);
      }
    } catch (Throwable e) {
      giveUp(e);
    } finally {
      endInterrupt(thrown);
      after = shard.position();
      shard.leave();
    }
  }

  private void read(Slab into, Worker by) throws Exception {
    beginSample(shard.index(0));
    String begin = shard.open();
    while (!readSamples(into, by.options(), by.writer())) {
      shard.reopen(begin);
    }
    if (cancelled) {
      return;
    }
    String end = shard.place();
    if (rows == 0 && last != null && end.equals(begin)) {
      giveUp(last);
      return;
    }
    first = shard.index(0);
    shard.advance(end, covered, isAtEnd);
    if (thrown == null && !isNothing()) {
      finish(into, by);
    }
  }

  @Override
  long firstSample() {
    return first;
  }

  /** Reads the samples starting with the first; returns false if this must be retried. */
  private boolean readSamples(Slab into, TaskOptions options, SlabSampleWriter writer) {
    rows = 0;
    skipped = null; // are found again
    writer.beginBatch(into);
    boolean isMany = shard.hasColumns() && options.layout().variable().isEmpty();
    for (covered = 0; covered < batchSize && !isAtEnd && thrown == null && !cancelled; ) {
      long index = shard.index(covered);
      Throwable failed = read(index, isMany ? batchSize - covered : 1, into, options, writer);
      if (isAtEnd || cancelled) {
        break;
      }
      if (failed != null && attempts[covered]++ < options.onFailure().retries()) {
        return false;
      }
      for (int i = 0; i < read; i++) {
        sampleOfRow[rows++] = shard.index(covered++);
      }
      if (failed != null) {
        covered++;
        last = failed;
        if (options.onFailure().skip()) {
          skip(index, Failures.describe(failed));
        }
        thrown = options.onFailure().skip() ? null : failed;
        thrownAt = index;
      }
    }
    return true;
  }

  private @Nullable Throwable read(
      long index, int max, Slab into, TaskOptions options, SlabSampleWriter writer) {
    beginSample(index);
    Throwable failed = null;
    read = 0;
    try {
      writer.begin(into, rows, max, options.seed(), epoch, index);
      int count = shard.next(writer, max);
      if (count > 0) {
        writer.end(count);
      } else {
        isAtEnd = true;
      }
      read = count;
    } catch (Throwable e) {
      failed = e;
    } finally {
      writer.abandon();
      endInterrupt(failed);
    }
    return failed;
  }

  private void giveUp(Throwable e) {
    if (cancelled) {
      return;
    }
    thrown = e;
    thrownAt = shard.index(0);
    shard.giveUp();
  }
}
