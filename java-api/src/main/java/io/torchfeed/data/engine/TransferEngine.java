// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeDeviceTransfer;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.data.task.BatchRequest;
import io.torchfeed.data.task.LoaderMeter;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.LoaderEvents;
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
    final long number; // number of the transfer
    final @Nullable LoadedBatch
        rows; // on the host, with closed tensors; or the reason why there are none
    final @Nullable Throwable failure; // failure of the host engine

    Sent(long number, @Nullable LoadedBatch rows, @Nullable Throwable failure) {
      this.number = number;
      this.rows = rows;
      this.failure = failure;
    }
  }

  private final BatchEngine host;
  private final String device;
  private final NativeHandle<NativeDeviceTransfer> transfer;
  private final LoaderMeter meter;
  private long epoch;
  private @Nullable Sent ahead;
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
    ahead = null;
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
    releaseCurrent();
    Sent next = ahead;
    ahead = null;
    if (next == null) {
      next = send(due);
    }
    throwIfFailed(next.failure);
    LoadedBatch gathered = receive(next);
    if (host.isReady()) {
      ahead = sendAhead(due + 1);
    }
    return gathered;
  }

  private static void throwIfFailed(@Nullable Throwable failure) {
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure != null) {
      throw (RuntimeException) failure;
    }
  }

  private void releaseCurrent() {
    if (current != NONE) {
      long number = current;
      current = NONE;
      transfer.run(native_ -> native_.release(number));
    }
  }

  private Sent sendAhead(long due) {
    try {
      return send(due);
    } catch (RuntimeException | Error e) {
      return new Sent(NONE, null, e);
    }
  }

  private Sent send(long due) {
    LoadedBatch rows = host.take(due);
    if (!rows.hasRows()) {
      return new Sent(NONE, rows, null);
    }
    LoaderEvents.Transfer event = LoaderEvents.beginTransfer();
    long start = System.nanoTime();
    try (PointerScope scope = new PointerScope();
        TensorVector vector = new TensorVector(rows.tensors)) {
      long number = transfer.call(native_ -> native_.send(vector));
      if (event != null) {
        event.finish(epoch, rows.batch, rows.bytes);
      }
      return new Sent(number, rows, null);
    } catch (RuntimeException | Error e) {
      return new Sent(NONE, rows.failed(notCopied(rows.batch, e)), null);
    } finally {
      meter.transferred(System.nanoTime() - start);
      for (Tensor tensor : rows.tensors) {
        tensor.close(); // the transfer keeps the memory it reads
      }
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

  private LoadedBatch receive(Sent sent) {
    LoadedBatch rows = requireNonNull(sent.rows);
    if (!rows.hasRows()) {
      return rows;
    }
    current = sent.number;
    try {
      BatchVector copies =
          new BatchVector(
              NativeHandle.outsideOfScopes(
                  () -> transfer.call(native_ -> native_.receive(sent.number))),
              BatchVector::close);
      return rows.in(copies.tensors());
    } catch (RuntimeException | Error e) {
      return rows.failed(notCopied(rows.batch, e));
    }
  }

  @Override
  public long dropIfNothing(long due) {
    Sent next = ahead;
    if (next == null) {
      return host.dropIfNothing(due);
    }
    LoadedBatch rows = next.rows;
    if (rows == null || !rows.isNothing) {
      return NO_REQUEST;
    }
    ahead = null;
    return rows.batch;
  }

  @Override
  public int ready() {
    return host.ready() + (ahead == null ? 0 : 1);
  }

  @Override
  public long slabBytes() {
    return host.slabBytes();
  }

  @Override
  public boolean isReady() {
    return ahead != null || host.isReady();
  }

  @Override
  public void interrupt() {
    host.interrupt();
    transfer.run(NativeDeviceTransfer::interrupt);
  }

  @Override
  public void close() {
    host.close();
    transfer.close();
  }
}
