// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.Slab;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A batch of the next samples of one shard. What is not private is read once it is done. */
final class StreamTask extends FillTask {
  private static final long[] NOT_KNOWN = {};

  private final StreamShard shard;
  private final int batchSize;
  private final boolean dropLast;
  private final long[] sampleOfRow; // by row
  private final int[] attempts; // that failed, by place in the batch
  private long first; // sample of the batch
  private int covered; // places in the batch that are done with
  private boolean isAtEnd;
  private @Nullable Throwable last; // that a sample threw

  /** How far the shard is read; null if it was not. */
  @Nullable ShardPosition after;

  /** Why the batch is lost, and the sample at which it was. */
  @Nullable Throwable thrown;

  long thrownAt;

  StreamTask(long epoch, long batch, StreamShard shard, int batchSize, boolean dropLast) {
    super(epoch, batch, NOT_KNOWN, 0);
    this.shard = shard;
    this.batchSize = batchSize;
    this.dropLast = dropLast;
    sampleOfRow = new long[batchSize];
    attempts = new int[batchSize];
  }

  @Override
  boolean isReady() {
    return !shard.running;
  }

  @Override
  void setRunning(boolean running) {
    shard.running = running;
  }

  int shardNumber() {
    return shard.number();
  }

  /** Whether the shard had nothing left for this batch. */
  boolean isNothing() {
    return thrown == null
        && error == null
        && (covered == 0 || (dropLast && isAtEnd && covered < batchSize));
  }

  /** The samples of the rows. */
  long[] samples() {
    return Arrays.copyOf(sampleOfRow, rows);
  }

  @Override
  void fillRows(Slab free, JavaFeedOptions options, SampleWriter writer) {
    slab = free;
    if (!shard.enter()) {
      return; // of a pass that is over
    }
    try {
      if (!shard.isOver()) {
        read(free, options, writer);
      }
    } catch (Throwable e) {
      giveUp(e);
    } finally {
      after = shard.position();
      shard.leave();
    }
  }

  private void read(Slab into, JavaFeedOptions options, SampleWriter writer) throws Exception {
    beginSample(shard.index(0));
    String begin = shard.open();
    while (!readSamples(into, options, writer)) {
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
      end(into, options, writer);
    }
  }

  @Override
  long firstSample() {
    return first;
  }

  /** Reads the samples from the first on; false if it is to be tried again. */
  private boolean readSamples(Slab into, JavaFeedOptions options, SampleWriter writer) {
    rows = 0;
    writer.beginBatch(into);
    for (covered = 0; covered < batchSize && !isAtEnd && thrown == null && !cancelled; ) {
      long index = shard.index(covered);
      Throwable failed = readSample(index, into, options, writer);
      if (isAtEnd || cancelled) {
        break;
      }
      if (failed != null && attempts[covered]++ < options.onFailure().retries()) {
        return false;
      }
      covered++;
      if (failed == null) {
        sampleOfRow[rows++] = index;
      } else {
        last = failed;
        thrown = options.onFailure().skip() ? null : failed;
        thrownAt = index;
      }
    }
    return true;
  }

  private @Nullable Throwable readSample(
      long index, Slab into, JavaFeedOptions options, SampleWriter writer) {
    beginSample(index);
    try {
      writer.begin(into, rows, options.seed(), epoch, index);
      if (shard.next(writer)) {
        writer.end();
      } else {
        isAtEnd = true;
      }
      return null;
    } catch (Throwable e) {
      wasInterrupted |= e instanceof InterruptedException;
      wasInterrupted |= Thread.interrupted();
      return e;
    } finally {
      writer.abandon();
    }
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
