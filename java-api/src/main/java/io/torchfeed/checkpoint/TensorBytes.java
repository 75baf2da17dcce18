// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.internal.Quotes;
import io.torchfeed.memory.DType;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** The bytes of tensors, as files and checksums take them. */
final class TensorBytes {
  private TensorBytes() {}

  /**
   * Checks that a tensor has bytes to be saved.
   *
   * @throws IllegalArgumentException if it is undefined or sparse, or on a device without values
   */
  static void requireDense(String name, Tensor tensor) {
    String named = "tensor " + Quotes.shortened(requireNonNull(name, "name of a tensor"));
    requireNonNull(tensor, named);
    if (!tensor.defined()) {
      throw new IllegalArgumentException(named + " is undefined");
    }
    if (tensor.layout().intern() != torch.Layout.Strided) {
      throw new IllegalArgumentException(named + " must be dense, got " + tensor.layout());
    }
    if (tensor.is_meta()) {
      throw new IllegalArgumentException(named + " has no values, since its device is meta");
    }
  }

  /** Returns a tensor of the same values whose bytes {@link #forEach} takes. */
  static Tensor inOrder(Tensor tensor) {
    return tensor.detach().resolve_conj().resolve_neg().cpu().contiguous();
  }

  /** Returns a tensor on the CPU without values, owned by the caller and by no pointer scope. */
  static Tensor empty(DType dtype, long... sizes) {
    return NativeHandle.outsideOfScopes(
        () -> {
          try (TensorOptions options = new TensorOptions(dtype.scalarType());
              MemoryFormatOptional format = new MemoryFormatOptional()) {
            return torch.empty(sizes, options, format);
          }
        });
  }

  /**
   * Passes all bytes in order, in pieces that buffers of the JDK can have.
   *
   * @param tensor contiguous, on the CPU
   * @throws IllegalStateException if {@code use} leaves bytes
   */
  static <E extends Exception> void forEach(Tensor tensor, NativeBytes.Use<E> use) throws E {
    try (Pointer memory = tensor.data_ptr()) {
      NativeBytes.forEach(memory, tensor.nbytes(), use);
    }
  }
}
