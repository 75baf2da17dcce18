// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.bindings.NativeDeviceTransfer;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.data.task.BatchRequest;
import io.torchfeed.data.task.LoaderMeter;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.LoaderEvents;
import io.torchfeed.trace.ring.Kind;
import io.torchfeed.trace.ring.Recorder;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * An engine that copies the batches of another engine to a device. When a batch is taken, the copy
 * of the next one is started if its rows are ready, and proceeds while the consumer computes. A
 * failure of the next batch is reported when that batch is taken.
 */
public final class TransferEngine implements BatchEngine {
  /** One batch held by the consumer, one being copied. */
  private static final int SLOTS = 2;

  private static final long NONE = -1;

  /** A batch that was taken from the host engine. */
  private static final class Sent {
    final LoadedBatch rows; // on the host, with closed tensors; or the reason why there are none
    long number = NONE; // number of the transfer
    @Nullable Throwable failure; // of the transfer

    Sent(LoadedBatch rows) {
      this.rows = rows;
    }
  }

  private final BatchEngine host;
  private final String device;
  private final NativeHandle<NativeDeviceTransfer> transfer;
  private final LoaderMeter meter;
  private final DeviceTimes times;
  private long epoch;
  private long elsewhereNanos; // of a call; the meter counts them otherwise
  private @Nullable LoadedBatch unsent; // taken from the host, and not yet sent
  private @Nullable Sent ahead; // sent, and not yet taken by the consumer
  private @Nullable Throwable failedAhead; // exception of the host engine when it was asked ahead
  private long current = NONE; // transfer of the batch that the consumer holds

  private TransferEngine(
      BatchEngine host,
      String device,
      NativeHandle<NativeDeviceTransfer> transfer,
      LoaderMeter meter) {
    this.host = host;
    this.device = device;
    this.transfer = transfer;
    this.meter = meter;
    this.times = new DeviceTimes(meter);
  }

  /**
   * Takes ownership of an engine that has not begun, and makes it gather into page-locked memory.
   *
   * @throws IllegalArgumentException if libtorch has no such device
   * @throws IllegalStateException if the device cannot be used; the message names the missing part
   */
  public static TransferEngine over(BatchEngine host, String device, LoaderMeter meter) {
    NativeHandle<NativeDeviceTransfer> transfer;
    try {
      transfer =
          NativeHandle.create("DataLoader", () -> NativeDeviceTransfer.create(device, SLOTS));
    } catch (NativeException e) {
      throw new IllegalStateException(
          "device %s cannot be used: %s".formatted(device, e.getMessage()), e);
    }
    host.pinFor(device, false);
    return new TransferEngine(host, device, transfer, meter);
  }

  @Override
  public void pinFor(String device, boolean once) {
    host.pinFor(device, once);
  }

  @Override
  public boolean rewind(long newEpoch) {
    dropUnsent();
    ahead = null;
    failedAhead = null;
    current = NONE;
    epoch = newEpoch;
    boolean isOfUse = false;
    try {
      transfer.run(NativeDeviceTransfer::rewind);
    } finally {
      isOfUse = host.rewind(newEpoch);
    }
    return isOfUse;
  }

  @Override
  public void request(BatchRequest request) {
    host.request(request);
  }

  @Override
  public void start() {
    host.start();
  }

  @Override
  public LoadedBatch take(long due) {
    long start = System.nanoTime();
    elsewhereNanos = 0;
    releaseCurrent();
    throwFailedAhead();
    Sent next = sent(due);
    LoadedBatch received = received(next);
    current = next.number;
    ahead = null;
    sendAhead(due + 1);
    meter.received(System.nanoTime() - start - elsewhereNanos);
    return received;
  }

  private void releaseCurrent() {
    if (current != NONE) {
      long number = current;
      transfer.run(native_ -> native_.release(number));
      current = NONE;
    }
  }

  private void throwFailedAhead() {
    Throwable failure = failedAhead;
    failedAhead = null;
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure != null) {
      throw (RuntimeException) failure;
    }
  }

  /**
   * Sends the next batch if its rows are ready, and reports times. A failure is kept for the next
   * call, since a batch was taken.
   */
  private void sendAhead(long due) {
    try {
      if (host.isReady()) {
        sent(due);
      }
      times.report(values -> transfer.run(native_ -> native_.times(values)));
    } catch (RuntimeException | Error e) {
      failedAhead = e;
    }
  }

  /** Returns the next batch, which is sent if it has not been. */
  private Sent sent(long due) {
    Sent next = ahead;
    if (next == null) {
      if (unsent == null) {
        long start = System.nanoTime();
        unsent = host.take(due);
        elsewhereNanos += System.nanoTime() - start;
      }
      next = new Sent(unsent);
      ahead = next;
      unsent = null;
      if (next.rows.hasRows()) {
        send(next);
      }
    }
    return next;
  }

  /** Starts the copy; a failure costs the batch. */
  private void send(Sent next) {
    LoadedBatch rows = next.rows;
    long start = System.nanoTime();
    try (PointerScope scope = new PointerScope();
        TensorVector vector = new TensorVector(rows.tensors)) {
      LoaderEvents.Transfer event = LoaderEvents.beginTransfer();
      long begun = Recorder.begin();
      next.number = transfer.callLong(native_ -> native_.send(vector));
      Recorder.end(begun, Kind.TRANSFER, rows.batch, rows.bytes, epoch);
      if (event != null) {
        event.finish(epoch, rows.batch, rows.bytes);
      }
    } catch (RuntimeException | Error e) {
      next.failure = e;
    } finally {
      long took = System.nanoTime() - start;
      elsewhereNanos += took;
      meter.transferred(took);
      close(rows); // the transfer keeps the memory it reads
    }
  }

  private static void close(LoadedBatch rows) {
    for (Tensor tensor : rows.tensors) {
      tensor.close();
    }
  }

  private void dropUnsent() {
    LoadedBatch rows = unsent;
    unsent = null;
    if (rows != null) {
      close(rows);
    }
  }

  private IllegalStateException notCopied(long batch, Throwable e) {
    return new IllegalStateException(
        "batch %d of epoch %d could not be copied to %s: %s"
            .formatted(
                batch,
                epoch,
                device,
                e instanceof NativeException ? e.getMessage() : Failures.describe(e)),
        e);
  }

  /** Returns the batch on the device, or why there is none; can be called again if it throws. */
  private LoadedBatch received(Sent sent) {
    LoadedBatch rows = sent.rows;
    if (!rows.hasRows()) {
      return rows;
    }
    Throwable failure = sent.failure;
    if (failure == null) {
      try {
        BatchVector copies =
            new BatchVector(
                NativeHandle.outsideOfScopes(
                    () -> transfer.call(native_ -> native_.receive(sent.number))),
                BatchVector::close);
        return rows.in(copies.tensors());
      } catch (RuntimeException | Error e) {
        failure = e;
        sent.failure = e;
      }
    }
    return rows.failed(notCopied(rows.batch, failure));
  }

  @Override
  public long dropIfNothing(long due) {
    if (ahead == null && unsent == null) {
      return host.dropIfNothing(due);
    }
    LoadedBatch rows = ahead == null ? unsent : ahead.rows;
    if (rows == null || !rows.isNothing) {
      return NO_REQUEST;
    }
    ahead = null;
    unsent = null;
    return rows.batch;
  }

  @Override
  public int ready() {
    return host.ready() + (isOneAhead() ? 1 : 0);
  }

  @Override
  public long slabBytes() {
    return host.slabBytes();
  }

  @Override
  public boolean isReady() {
    return isOneAhead() || host.isReady();
  }

  private boolean isOneAhead() {
    return ahead != null || unsent != null;
  }

  @Override
  public void interrupt() {
    host.interrupt();
    transfer.run(NativeDeviceTransfer::interrupt);
  }

  @Override
  public void close() {
    dropUnsent();
    host.close();
    transfer.close();
  }
}
