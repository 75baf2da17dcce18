// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.bindings.BatchFeed;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import org.bytedeco.pytorch.TensorVector;

/** libtorch's C++ data loader. */
final class NativeFeed implements Feed {
  private final NativeHandle<BatchFeed> feed;
  private final int batchRows;
  private long epoch;

  private NativeFeed(NativeHandle<BatchFeed> feed, int batchRows) {
    this.feed = feed;
    this.batchRows = batchRows;
  }

  /**
   * Starts the workers.
   *
   * @throws IllegalStateException if they cannot be started
   */
  static NativeFeed create(HeldRows rows, int batchRows, int workers, int prefetch) {
    try {
      return new NativeFeed(rows.feed(batchRows, workers, prefetch), batchRows);
    } catch (NativeException e) {
      throw new IllegalStateException(
          "%d worker threads could not be started: %s".formatted(workers, e.getMessage()), e);
    }
  }

  @Override
  public void pinFor(String device) {
    feed.run(native_ -> native_.pin_for(device));
  }

  @Override
  public void rewind(long epoch) {
    feed.run(BatchFeed::rewind);
    this.epoch = epoch;
  }

  @Override
  public void request(long batch, long[] indices) {
    feed.run(native_ -> native_.request(indices, indices.length));
  }

  @Override
  public void start() {
    feed.run(BatchFeed::start);
  }

  @Override
  public Gathered take(long batch) {
    try (TensorVector views = NativeHandle.outsideOfScopes(() -> feed.call(BatchFeed::take))) {
      return new Gathered(Batch.ownTensors(views), null);
    } catch (NativeException e) {
      if (e.code() == NativeException.Code.UNREADABLE) {
        long row = feed.call(BatchFeed::unreadable_row);
        throw new SampleException(row, epoch, batch, String.valueOf(e.getMessage()), e);
      }
      throw new IllegalStateException(
          ("batch %d of epoch %d, of at most %d rows, could not be gathered: %s; make batches"
                  + " smaller or lower prefetch")
              .formatted(batch, epoch, batchRows, e.getMessage()),
          e);
    }
  }

  @Override
  public boolean isReady() {
    return feed.call(BatchFeed::is_ready);
  }

  @Override
  public void interrupt() {
    feed.run(BatchFeed::interrupt);
  }

  @Override
  public void close() {
    feed.close();
  }
}
