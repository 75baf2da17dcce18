// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import java.util.Arrays;
import java.util.Objects;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * Copies batches of host tensors to one device, on a stream of its own, behind the computation.
 *
 * <p>It has a ring of memory on the device, one slot a batch. The stream that computes waits for
 * the copy, and the copy for the last use of its slot; both are waits of streams, not of threads.
 * {@link #send} alone may wait, when the device is a whole ring behind. The host tensors are held
 * until their copy is over. Only page-locked memory ({@link Slab#allocatePinned}) is copied while
 * the caller goes on; a copy of other memory holds its thread.
 *
 * <p>One thread at a time sends; {@link #close} may come at any moment from any thread. Transfers
 * to several devices, or several to one, may be open in one process.
 */
public final class DeviceTransfer implements AutoCloseable {
  private static final int DEFAULT_SLOTS = 2;

  private final NativeHandle<io.torchfeed.bindings.DeviceTransfer> handle;

  private DeviceTransfer(NativeHandle<io.torchfeed.bindings.DeviceTransfer> handle) {
    this.handle = handle;
  }

  /**
   * A transfer with two slots: one batch is computed with while the next one is copied.
   *
   * @param device the name of the device, for example {@code cuda:0}
   * @return the transfer; the caller closes it
   * @throws IllegalArgumentException if it is no name of a device, the CPU, or an index too high
   * @throws IllegalStateException if this libtorch cannot use such a device; the message says what
   *     is missing
   */
  public static DeviceTransfer to(String device) {
    return to(device, DEFAULT_SLOTS);
  }

  /**
   * A transfer for several batches at a time.
   *
   * @param device the name of the device, for example {@code cuda:0}
   * @param slots how many batches may be sent and not closed, in [2, 1024]
   * @return the transfer; the caller closes it
   * @throws IllegalArgumentException if it is no name of a device, the CPU, an index too high, or
   *     {@code slots} is out of range
   * @throws IllegalStateException if this libtorch cannot use such a device; the message says what
   *     is missing
   */
  public static DeviceTransfer to(String device, int slots) {
    requireNonNull(device, "device");
    try {
      return new DeviceTransfer(
          NativeHandle.create(
              "DeviceTransfer", () -> io.torchfeed.bindings.DeviceTransfer.create(device, slots)));
    } catch (NativeException e) {
      throw new IllegalStateException(
          "device %s cannot be used: %s".formatted(device, e.getMessage()), e);
    }
  }

  /**
   * The device, with its index.
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
   * @param tensors dense CPU tensors, at least one; they stay the caller's, who may close them at
   *     once but must not write their memory before the copy is over
   * @return the batch on its way; the caller closes it
   * @throws IllegalArgumentException if there is no tensor, or one is undefined, not dense or not
   *     on the CPU
   * @throws IllegalStateException if every slot has a batch that is not closed, the device fails or
   *     has not that much memory, or the transfer is closed, also while waiting
   */
  public DeviceBatch send(Tensor... tensors) {
    Tensor[] host = tensors.clone();
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
   * before the copy is over and this transfer was used again.
   *
   * @param slab holds the batch; it stays the caller's
   * @param rows how many rows, in [0, slab.rows()]
   * @return the batch on its way, a tensor {@code [rows, shape...]} for each column; the caller
   *     closes it
   * @throws IndexOutOfBoundsException if the slab has fewer rows
   * @throws IllegalStateException as for tensors, or if the slab is closed
   */
  public DeviceBatch send(Slab slab, int rows) {
    Objects.checkFromToIndex(0, rows, slab.rows());
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
   * How many batches are still being copied; host memory of the others is let go of.
   *
   * @return the number, in [0, slots]
   * @throws IllegalStateException if the transfer is closed
   */
  public int copying() {
    return Math.toIntExact(handle.call(io.torchfeed.bindings.DeviceTransfer::copying));
  }

  /**
   * Frees the ring; tensors of batches that are not closed stay as they are. Waits half a second at
   * most for copies in flight; what they read is kept until they are over. Silent the second time.
   */
  @Override
  @SuppressWarnings("EmptyCatch") // closed by somebody else at the same time
  public void close() {
    try {
      handle.run(io.torchfeed.bindings.DeviceTransfer::interrupt);
    } catch (IllegalStateException closed) {
    }
    handle.close();
  }
}
