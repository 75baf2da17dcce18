// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import io.torchfeed.bindings.NativeDeviceTransfer;
import io.torchfeed.bindings.NativeHandle;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/** A batch that a {@link DeviceTransfer} copies to its device. Not thread-safe. */
public final class DeviceBatch implements AutoCloseable {
  private final NativeHandle<NativeDeviceTransfer> transfer;
  private final long number;
  private @Nullable List<Tensor> tensors;
  private boolean closed;

  DeviceBatch(NativeHandle<NativeDeviceTransfer> transfer, long number) {
    this.transfer = transfer;
    this.number = number;
  }

  /**
   * Returns the tensors on the device. The first call makes the current stream of the calling
   * thread wait for the copy, so that computations on this stream see the batch. Call it only when
   * the batch is needed, since all work enqueued on the stream afterwards waits as well.
   *
   * @return the tensors, with the shapes in which they were sent; they belong to the batch and are
   *     closed with it. A tensor, view or autograd graph created from them may outlive the batch
   *     and then keeps the memory.
   * @throws IllegalStateException if the batch or the transfer is closed
   */
  public List<Tensor> tensors() {
    if (closed) {
      throw new IllegalStateException("DeviceBatch is closed");
    }
    List<Tensor> received = tensors;
    if (received == null) {
      received = receive();
      tensors = received;
    }
    return received;
  }

  private List<Tensor> receive() {
    try (TensorVector views =
        NativeHandle.outsideOfScopes(() -> transfer.call(native_ -> native_.receive(number)))) {
      Tensor[] own = new Tensor[Math.toIntExact(views.size())];
      for (int i = 0; i < own.length; i++) {
        Tensor view = views.get(i);
        own[i] = NativeHandle.outsideOfScopes(() -> new Tensor(view));
      }
      return List.of(own);
    }
  }

  /**
   * Closes the tensors and returns the memory: the next copy into it waits for the work enqueued so
   * far on the stream of {@link #tensors} and on the current stream of this thread. Closing a
   * closed batch has no effect.
   */
  @Override
  @SuppressWarnings("EmptyCatch") // a closed transfer has freed the ring
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    if (tensors != null) {
      tensors.forEach(Tensor::close);
    }
    try {
      transfer.run(native_ -> native_.release(number));
    } catch (IllegalStateException transferIsClosed) {
    }
  }
}
