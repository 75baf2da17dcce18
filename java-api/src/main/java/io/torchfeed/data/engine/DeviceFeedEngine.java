// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.bindings.DeviceFeed;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.data.task.BatchRequest;
import io.torchfeed.data.task.IndexRequest;
import io.torchfeed.data.task.LoaderMeter;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.LoaderEvents;
import io.torchfeed.trace.ring.Kind;
import io.torchfeed.trace.ring.Recorder;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * An engine without workers: the device gathers the rows of the next batches from page-locked host
 * memory, while the consumer computes.
 */
final class DeviceFeedEngine implements BatchEngine {
  private static final long NONE = -1;

  /** A batch on its way to the device; without a number if that failed. */
  private record Sent(long batch, int rows, long number, @Nullable RuntimeException failure) {}

  private final NativeHandle<DeviceFeed> feed;
  private final String device;
  private final long rowBytes;
  private final long slabBytes;
  private final int slots;
  private final LoaderMeter meter;
  private final DeviceTimes times;
  private final ArrayDeque<IndexRequest> requests = new ArrayDeque<>();
  private final ArrayDeque<Sent> ahead = new ArrayDeque<>();
  private long epoch;
  private long current = NONE; // number of the batch that the consumer holds

  DeviceFeedEngine(
      NativeHandle<DeviceFeed> feed,
      String device,
      int slots,
      int batchRows,
      long rowBytes,
      LoaderMeter meter) {
    this.feed = feed;
    this.device = device;
    this.slots = slots;
    this.rowBytes = rowBytes;
    this.slabBytes = batchRows * rowBytes;
    this.meter = meter;
    this.times = new DeviceTimes(meter);
  }

  /** Has no effect: the rows are page-locked where they are. */
  @Override
  public void pinFor(String pinned, boolean once) {}

  @Override
  public boolean rewind(long newEpoch) {
    requests.clear();
    ahead.clear();
    current = NONE;
    epoch = newEpoch;
    feed.run(DeviceFeed::rewind);
    return true;
  }

  @Override
  public void request(BatchRequest request) {
    if (!(request instanceof IndexRequest list)) {
      throw new IllegalArgumentException("a device takes only index lists");
    }
    requests.add(list);
  }

  @Override
  public void start() {}

  @Override
  public LoadedBatch take(long due) {
    if (current != NONE) {
      long number = current;
      current = NONE;
      feed.run(native_ -> native_.release(number));
    }
    sendAhead(1);
    times.report(values -> feed.run(native_ -> native_.times(values))); // before a batch is taken
    Sent next = ahead.poll();
    if (next == null) {
      throw new IllegalStateException("no batch was requested");
    }
    LoadedBatch batch = receive(next);
    sendAhead(slots - 1);
    return batch;
  }

  private void sendAhead(int most) {
    while (ahead.size() < most && !requests.isEmpty()) {
      ahead.add(send(requests.remove()));
    }
  }

  private Sent send(IndexRequest list) {
    LoaderEvents.Transfer event = LoaderEvents.beginTransfer();
    long begun = Recorder.begin();
    long start = System.nanoTime();
    try {
      long number = feed.callLong(native_ -> native_.send(list.indices, list.size));
      Recorder.end(begun, Kind.TRANSFER, list.batch, list.size * rowBytes, epoch);
      if (event != null) {
        event.finish(epoch, list.batch, list.size * rowBytes);
      }
      return new Sent(list.batch, list.size, number, null);
    } catch (RuntimeException | Error e) {
      return new Sent(list.batch, list.size, NONE, notGathered(list.batch, e));
    } finally {
      meter.transferred(System.nanoTime() - start);
    }
  }

  private LoadedBatch receive(Sent sent) {
    if (sent.failure != null) {
      return LoadedBatch.failed(sent.batch, sent.failure);
    }
    current = sent.number;
    try {
      BatchVector rows =
          new BatchVector(
              NativeHandle.outsideOfScopes(
                  () -> feed.call(native_ -> native_.receive(sent.number))),
              BatchVector::close);
      return LoadedBatch.gathered(sent.batch, rows.tensors(), sent.rows, sent.rows * rowBytes, 0);
    } catch (RuntimeException | Error e) {
      return LoadedBatch.failed(sent.batch, notGathered(sent.batch, e));
    }
  }

  private IllegalStateException notGathered(long batch, Throwable e) {
    return new IllegalStateException(
        "batch %d of epoch %d could not be gathered by %s: %s"
            .formatted(
                batch,
                epoch,
                device,
                e instanceof NativeException ? e.getMessage() : Failures.describe(e)),
        e);
  }

  /** Returns {@link #NO_REQUEST}: an index list always has rows. */
  @Override
  public long dropIfNothing(long due) {
    return NO_REQUEST;
  }

  @Override
  public int ready() {
    return ahead.size();
  }

  @Override
  public boolean isReady() {
    return !ahead.isEmpty();
  }

  @Override
  public long slabBytes() {
    return slabBytes;
  }

  @Override
  public void interrupt() {
    feed.run(DeviceFeed::interrupt);
  }

  @Override
  public void close() {
    feed.close();
  }
}
