// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import org.jspecify.annotations.Nullable;

/**
 * One shard in one pass: a stream that is opened when it is first read. Its tasks read it one after
 * the other, in any thread; {@link #close} may come at any moment and never ends the stream under a
 * read.
 */
final class StreamShard {
  private final StreamDataset dataset;
  private final long epoch;
  private final int number;
  private final int count;

  /** Whether a task is at it; belongs to the holder of the feed's lock. */
  boolean running;

  // What follows belongs to the task that is at it.
  private @Nullable SampleStream stream;
  private ShardPosition position;
  private volatile boolean over; // ended, or given up

  // Of the lock.
  private boolean entered;
  private boolean closed;

  StreamShard(StreamDataset dataset, long epoch, ShardPosition position) {
    this.dataset = dataset;
    this.epoch = epoch;
    this.number = position.shard();
    this.count = dataset.shards();
    this.position = position;
    this.over = position.isEnded();
  }

  int number() {
    return number;
  }

  /** Whether nothing more comes of it in this pass. */
  boolean isOver() {
    return over;
  }

  /** How far it has been read. */
  ShardPosition position() {
    return position;
  }

  /** The number of a sample among those of all shards: its place in the shard, times shards. */
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

  void close() {
    boolean isLast;
    synchronized (this) {
      isLast = !closed && !entered;
      closed = true;
    }
    if (isLast) {
      closeStream();
    }
  }

  /** Opens the stream, unless it is open; gives the place where it goes on. */
  String open() throws Exception {
    if (stream == null) {
      stream =
          requireNonNull(dataset.open(epoch, number, position.position()), "the opened stream");
    }
    String place = position.position();
    return place == null ? place() : place;
  }

  /** Goes back to an earlier place. */
  void reopen(String place) throws Exception {
    closeStream();
    stream = requireNonNull(dataset.open(epoch, number, place), "the opened stream");
  }

  boolean next(SampleWriter sample) throws Exception {
    return requireNonNull(stream).next(sample);
  }

  String place() throws Exception {
    return requireNonNull(requireNonNull(stream).position(), "the position");
  }

  /** Goes on behind some samples. */
  void advance(String place, int samples, boolean isAtEnd) {
    position = new ShardPosition(number, place, position.samples() + samples, isAtEnd);
    if (isAtEnd) {
      over = true;
      closeStream();
    }
  }

  /** Reads no more of it in this pass. */
  void giveUp() {
    over = true;
    closeStream();
  }

  @SuppressWarnings("EmptyCatch") // the stream's contract: nobody is left to tell
  private void closeStream() {
    SampleStream open = stream;
    stream = null;
    if (open != null) {
      try {
        open.close();
      } catch (Throwable ignored) {
      }
    }
  }
}
