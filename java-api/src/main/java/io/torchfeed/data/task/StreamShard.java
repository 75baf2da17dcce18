// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.StreamDataset;
import org.jspecify.annotations.Nullable;

/**
 * A shard in one pass: a stream that is opened when it is first read. Its tasks read it one after
 * the other, on any thread; {@link #close} may be called at any time and never closes the stream
 * during a read.
 */
public final class StreamShard {
  private final StreamDataset dataset;
  private final long epoch;
  private final int number;
  private final int count;

  /** True while a task reads the shard. Guarded by the monitor of the engine. */
  boolean running;

  // The following fields belong to the task that reads the shard.
  private StreamDataset.@Nullable SampleStream stream;
  private LoaderState.ShardPosition position;
  private volatile boolean over; // ended, or given up

  // Guarded by this.
  private boolean entered;
  private boolean closed;

  public StreamShard(StreamDataset dataset, long epoch, LoaderState.ShardPosition position) {
    this.dataset = dataset;
    this.epoch = epoch;
    this.number = position.shard();
    this.count = dataset.shards();
    this.position = position;
    this.over = position.isEnded();
  }

  public int number() {
    return number;
  }

  /** Returns whether the shard delivers nothing more in this pass. */
  public boolean isOver() {
    return over;
  }

  /** Returns the position up to which the shard has been read. */
  public LoaderState.ShardPosition position() {
    return position;
  }

  /**
   * Returns the index of a sample: its position in the shard times the number of shards, plus the
   * number of the shard.
   */
  long index(int fromHere) {
    return (position.samples() + fromHere) * count + number;
  }

  synchronized boolean enter() {
    entered = !closed;
    return entered;
  }

  void leave() {
    boolean isLast;
    synchronized (this) {
      entered = false;
      isLast = closed;
    }
    if (isLast) {
      closeStream();
    }
  }

  public void close() {
    boolean isLast;
    synchronized (this) {
      isLast = !closed && !entered;
      closed = true;
    }
    if (isLast) {
      closeStream();
    }
  }

  /** Opens the stream, unless it is open; returns the position where it continues. */
  String open() throws Exception {
    if (stream == null) {
      stream =
          requireNonNull(dataset.open(epoch, number, position.position()), "the opened stream");
    }
    String place = position.position();
    return place == null ? place() : place;
  }

  /** Goes back to an earlier position. */
  void reopen(String place) throws Exception {
    closeStream();
    stream = requireNonNull(dataset.open(epoch, number, place), "the opened stream");
  }

  /** Returns whether the stream writes several samples at once. */
  boolean hasColumns() {
    return stream instanceof StreamDataset.ColumnStream;
  }

  /** Writes the next samples; returns their number. */
  int next(SampleWriter samples, int max) throws Exception {
    StreamDataset.SampleStream open = requireNonNull(stream);
    if (open instanceof StreamDataset.ColumnStream columns && max > 1) {
      int count = columns.nextRows(samples, max);
      if (count < 0 || count > max) {
        throw new IllegalStateException(
            "nextRows must write 0 to %d samples, got %d".formatted(max, count));
      }
      return count;
    }
    return open.next(samples) ? 1 : 0;
  }

  String place() throws Exception {
    return requireNonNull(requireNonNull(stream).position(), "the position");
  }

  /** Moves the position past some samples. */
  void advance(String place, int samples, boolean isAtEnd) {
    position = new LoaderState.ShardPosition(number, place, position.samples() + samples, isAtEnd);
    if (isAtEnd) {
      over = true;
      closeStream();
    }
  }

  /** Ends the shard for this pass. */
  void giveUp() {
    over = true;
    closeStream();
  }

  @SuppressWarnings("EmptyCatch") // the stream's contract: exceptions are ignored
  private void closeStream() {
    StreamDataset.SampleStream open = stream;
    stream = null;
    if (open != null) {
      try {
        open.close();
      } catch (Throwable ignored) {
      }
    }
  }
}
