// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeDeviceTransfer;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import java.util.Arrays;
import java.util.Objects;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * A pipeline that copies batches of host tensors to one device, on its own stream, concurrently
 * with computation.
 *
 * <p>It has a ring of memory on the device, one slot per batch. The computing stream waits for the
 * copy, and the copy waits for the last use of its slot; both are waits of streams, not of threads.
 * Only {@link #send} may block a thread, when the device lags behind by a whole ring. The host
 * tensors are kept alive until their copy is complete. Only page-locked memory ({@link
 * Slab#allocatePinned}) is copied asynchronously; any other copy blocks the caller.
 *
 * <p>One thread at a time may send; {@link #close} may be called at any time from any thread. A
 * process may have several transfers open, to several devices or to the same one.
 */
public final class DeviceTransfer implements AutoCloseable {
  private static final int DEFAULT_SLOTS = 2;

  private final NativeHandle<NativeDeviceTransfer> handle;

  private DeviceTransfer(NativeHandle<NativeDeviceTransfer> handle) {
    this.handle = handle;
  }

  /**
   * Opens a transfer with two slots: one batch is in use while the next one is copied.
   *
   * @param device the name of the device, for example {@code cuda:0}
   * @return the transfer; the caller closes it
   * @throws IllegalArgumentException if it is not the name of a device, names the CPU, or its index
   *     is too high
   * @throws IllegalStateException if this libtorch cannot use such a device; the message names the
   *     missing part
   */
  public static DeviceTransfer to(String device) {
    return to(device, DEFAULT_SLOTS);
  }

  /**
   * Opens a transfer for several batches at a time.
   *
   * @param device the name of the device, for example {@code cuda:0}
   * @param slots the maximum number of batches sent and not yet closed, in [2, 1024]
   * @return the transfer; the caller closes it
   * @throws IllegalArgumentException if it is not the name of a device, names the CPU, its index is
   *     too high, or {@code slots} is out of range
   * @throws IllegalStateException if this libtorch cannot use such a device; the message names the
   *     missing part
   */
  public static DeviceTransfer to(String device, int slots) {
    requireNonNull(device, "device");
    try {
      return new DeviceTransfer(
          NativeHandle.create("DeviceTransfer", () -> NativeDeviceTransfer.create(device, slots)));
    } catch (NativeException e) {
      throw new IllegalStateException(
          "device %s cannot be used: %s".formatted(device, e.getMessage()), e);
    }
  }

  /**
   * Returns the device, with its index.
   *
   * @return its name, for example {@code cuda:0}
   * @throws IllegalStateException if the transfer is closed
   */
  public String device() {
    return handle.call(
        transfer -> {
          try (BytePointer name = transfer.device()) {
            return name.getString();
          }
        });
  }

  /**
   * Starts the copy of a batch.
   *
   * @param tensors dense CPU tensors, at least one; they remain the caller's, who may close them at
   *     once but must not write to their memory before the copy is complete
   * @return the batch in transfer; the caller closes it
   * @throws IllegalArgumentException if there is no tensor, or one is undefined, not dense or not
   *     on the CPU
   * @throws IllegalStateException if every slot holds a batch that is not closed, the device fails
   *     or has too little memory, or the transfer is closed, even while this call waits
   */
  public DeviceBatch send(Tensor... tensors) {
    Tensor[] host = requireNonNull(tensors, "tensors").clone();
    for (int i = 0; i < host.length; i++) {
      int number = i;
      requireNonNull(host[i], () -> "tensor " + number);
    }
    try (PointerScope scope = new PointerScope();
        TensorVector vector = new TensorVector(host)) {
      return new DeviceBatch(handle, handle.call(transfer -> transfer.send(vector)));
    } catch (NativeException e) {
      throw new IllegalStateException(
          "a batch of %d tensors could not be copied: %s".formatted(host.length, e.getMessage()),
          e);
    }
  }

  /**
   * Starts the copy of the first rows of a slab. The slab is not {@linkplain Slab#isFree free}
   * until the copy is complete and this transfer has been used again.
   *
   * @param slab holds the batch; it remains the caller's
   * @param rows the number of rows, in [0, slab.rows()]
   * @return the batch in transfer, a tensor {@code [rows, shape...]} for each column; the caller
   *     closes it
   * @throws IndexOutOfBoundsException if the slab has fewer rows
   * @throws IllegalStateException as in {@link #send(Tensor...)}, or if the slab is closed
   */
  public DeviceBatch send(Slab slab, int rows) {
    ColumnBuffers.requireCount("rows", rows, requireNonNull(slab, "slab").rows());
    Tensor[] views = new Tensor[slab.columns().size()];
    try {
      for (int i = 0; i < views.length; i++) {
        views[i] = slab.view(i, rows);
      }
      return send(views);
    } finally {
      Arrays.stream(views).filter(Objects::nonNull).forEach(Tensor::close);
    }
  }

  /**
   * Returns the number of batches still being copied; releases the host memory of the others.
   *
   * @return the number, in [0, slots]
   * @throws IllegalStateException if the transfer is closed
   */
  public int copying() {
    return Math.toIntExact(handle.call(NativeDeviceTransfer::copying));
  }

  /**
   * Frees the ring; the tensors of batches that are not closed remain valid. Waits at most half a
   * second for copies in flight; the memory that they read is kept until they are complete. Closing
   * a closed transfer has no effect.
   */
  @Override
  @SuppressWarnings("EmptyCatch") // another thread closed it at the same time
  public void close() {
    try {
      handle.run(NativeDeviceTransfer::interrupt);
    } catch (IllegalStateException closed) {
    }
    handle.close();
  }
}
