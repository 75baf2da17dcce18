// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

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
    final int @Nullable [] elements;
    final @Nullable Throwable failure; // instead of a batch

    Sent(long number, int @Nullable [] elements, @Nullable Throwable failure) {
      this.number = number;
      this.elements = elements;
      this.failure = failure;
    }
  }

  private final Feed host;
  private final String device;
  private final NativeHandle<DeviceTransfer> transfer;
  private long epoch;
  private int waiting; // batches asked of the host feed and not taken from it
  private @Nullable Sent ahead;
  private long current = NONE; // the consumer's

  private TransferFeed(Feed host, String device, NativeHandle<DeviceTransfer> transfer) {
    this.host = host;
    this.device = device;
    this.transfer = transfer;
  }

  /**
   * Takes ownership of a feed that has not begun, and lets it gather into page-locked memory.
   *
   * @throws IllegalArgumentException if the device is none that libtorch knows
   * @throws IllegalStateException if it cannot be used; the message says what is missing
   */
  static TransferFeed over(Feed host, String device) {
    NativeHandle<DeviceTransfer> transfer;
    try {
      transfer = NativeHandle.create("DataLoader", () -> DeviceTransfer.create(device, SLOTS));
    } catch (NativeException e) {
      throw new IllegalStateException(
          "device %s cannot be used: %s".formatted(device, e.getMessage()), e);
    }
    host.pinFor(device);
    return new TransferFeed(host, device, transfer);
  }

  @Override
  public void pinFor(String device) {
    host.pinFor(device);
  }

  @Override
  public void rewind(long newEpoch) {
    ahead = null;
    current = NONE;
    waiting = 0;
    epoch = newEpoch;
    try {
      transfer.run(DeviceTransfer::rewind);
    } finally {
      host.rewind(newEpoch);
    }
  }

  @Override
  public void request(long batch, long[] indices) {
    host.request(batch, indices);
    waiting++;
  }

  @Override
  public void start() {
    host.start();
  }

  @Override
  public Gathered take(long batch) {
    releaseCurrent();
    Sent next = ahead;
    ahead = null;
    if (next == null) {
      next = send(batch);
    }
    throwIfFailed(next.failure);
    Gathered gathered = receive(next);
    if (waiting > 0 && host.isReady()) {
      ahead = sendAhead(batch + 1);
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

  private Sent sendAhead(long batch) {
    try {
      return send(batch);
    } catch (RuntimeException | Error e) {
      return new Sent(NONE, null, e);
    }
  }

  private Sent send(long batch) {
    Gathered rows = takeRows(batch);
    try (PointerScope scope = new PointerScope();
        TensorVector vector = new TensorVector(rows.tensors)) {
      return new Sent(transfer.call(native_ -> native_.send(vector)), rows.elements, null);
    } catch (NativeException e) {
      throw new IllegalStateException(
          "batch %d of epoch %d could not be copied to %s: %s"
              .formatted(batch, epoch, device, e.getMessage()),
          e);
    } finally {
      for (Tensor tensor : rows.tensors) {
        tensor.close(); // the transfer holds what it reads
      }
    }
  }

  private Gathered takeRows(long batch) {
    waiting--;
    try {
      return host.take(batch);
    } catch (LoaderTimeoutException e) {
      waiting++; // it can be taken again
      throw e;
    }
  }

  private Gathered receive(Sent sent) {
    current = sent.number;
    try (TensorVector views =
        NativeHandle.outsideOfScopes(
            () -> transfer.call(native_ -> native_.receive(sent.number)))) {
      return new Gathered(Batch.ownTensors(views), sent.elements);
    } catch (NativeException e) {
      throw new IllegalStateException(
          "a batch of epoch %d could not be received on %s: %s"
              .formatted(epoch, device, e.getMessage()),
          e);
    }
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
