// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.DeviceTransfer;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * Copies the batches of another feed to a device. When a batch is taken, the copy of the next one
 * is started, if its rows are there: it goes on while the consumer computes. What fails for the
 * next batch is told when that is due.
 */
final class TransferFeed implements Feed {
  /** One batch at the consumer, one on its way. */
  private static final int SLOTS = 2;

  private static final long NONE = -1;

  /** A batch that was taken from the host feed. */
  private static final class Sent {
    final long number; // of the transfer
    final @Nullable Gathered rows; // on the host, whose tensors are closed; or why there are none
    final @Nullable Throwable failure; // of the feed

    Sent(long number, @Nullable Gathered rows, @Nullable Throwable failure) {
      this.number = number;
      this.rows = rows;
      this.failure = failure;
    }
  }

  private final Feed host;
  private final String device;
  private final NativeHandle<DeviceTransfer> transfer;
  private final LoaderMeter meter;
  private long epoch;
  private int waiting; // batches asked of the host feed and not taken from it
  private @Nullable Sent ahead;
  private long current = NONE; // the consumer's

  private TransferFeed(
      Feed host, String device, NativeHandle<DeviceTransfer> transfer, LoaderMeter meter) {
    this.host = host;
    this.device = device;
    this.transfer = transfer;
    this.meter = meter;
  }

  /**
   * Takes ownership of a feed that has not begun, and lets it gather into page-locked memory.
   *
   * @throws IllegalArgumentException if the device is none that libtorch knows
   * @throws IllegalStateException if it cannot be used; the message says what is missing
   */
  static TransferFeed over(Feed host, String device, LoaderMeter meter) {
    NativeHandle<DeviceTransfer> transfer;
    try {
      transfer = NativeHandle.create("DataLoader", () -> DeviceTransfer.create(device, SLOTS));
    } catch (NativeException e) {
      throw new IllegalStateException(
          "device %s cannot be used: %s".formatted(device, e.getMessage()), e);
    }
    host.pinFor(device);
    return new TransferFeed(host, device, transfer, meter);
  }

  @Override
  public void pinFor(String device) {
    host.pinFor(device);
  }

  @Override
  public boolean rewind(long newEpoch) {
    ahead = null;
    current = NONE;
    waiting = 0;
    epoch = newEpoch;
    boolean isOfUse = false;
    try {
      transfer.run(DeviceTransfer::rewind);
    } finally {
      isOfUse = host.rewind(newEpoch);
    }
    return isOfUse;
  }

  @Override
  public void request(long batch, long[] indices, int size) {
    host.request(batch, indices, size);
    waiting++;
  }

  @Override
  public void start() {
    host.start();
  }

  @Override
  public Gathered take(long due) {
    releaseCurrent();
    Sent next = ahead;
    ahead = null;
    if (next == null) {
      next = send(due);
    }
    throwIfFailed(next.failure);
    Gathered gathered = receive(next);
    if (waiting > 0 && host.isReady()) {
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
    Gathered rows = takeRows(due);
    if (rows.failure != null) {
      return new Sent(NONE, rows, null);
    }
    LoaderEvents.Transfer event = LoaderEvents.beginTransfer();
    long start = System.nanoTime();
    try (PointerScope scope = new PointerScope();
        TensorVector vector = new TensorVector(rows.tensors)) {
      long number = transfer.call(native_ -> native_.send(vector));
      if (event != null) {
        event.tell(epoch, rows);
      }
      return new Sent(number, rows, null);
    } catch (NativeException e) {
      return new Sent(NONE, Gathered.failed(rows.batch, notCopied(rows.batch, e)), null);
    } finally {
      meter.transferred(System.nanoTime() - start);
      for (Tensor tensor : rows.tensors) {
        tensor.close(); // the transfer holds what it reads
      }
    }
  }

  private IllegalStateException notCopied(long batch, NativeException e) {
    return new IllegalStateException(
        "batch %d of epoch %d could not be copied to %s: %s"
            .formatted(batch, epoch, device, e.getMessage()),
        e);
  }

  private Gathered takeRows(long due) {
    waiting--;
    try {
      return host.take(due);
    } catch (LoaderTimeoutException e) {
      waiting++; // it can be taken again
      throw e;
    }
  }

  private Gathered receive(Sent sent) {
    Gathered rows = requireNonNull(sent.rows);
    if (rows.failure != null) {
      return rows;
    }
    current = sent.number;
    try {
      BatchVector copies =
          new BatchVector(
              NativeHandle.outsideOfScopes(
                  () -> transfer.call(native_ -> native_.receive(sent.number))),
              BatchVector::close);
      return Gathered.of(rows.batch, copies.tensors(), rows.rows, rows.bytes, rows.elements);
    } catch (NativeException e) {
      return Gathered.failed(rows.batch, notCopied(rows.batch, e));
    }
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
    transfer.run(DeviceTransfer::interrupt);
  }

  @Override
  public void close() {
    host.close();
    transfer.close();
  }
}
