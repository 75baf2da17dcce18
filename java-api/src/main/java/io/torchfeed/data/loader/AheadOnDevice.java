// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import io.torchfeed.bindings.DeviceLane;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.data.task.BatchWork;
import io.torchfeed.internal.Checks;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.LongSupplier;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;

/**
 * The work of workers that send batches to a device themselves and decode a column there, each in a
 * stream of its own: it neither waits for the consumer's stream nor makes it wait. A batch is
 * delivered once its work is done, so the consumer needs no event. Thread-safe.
 */
final class AheadOnDevice implements BatchWork {
  private final String device;
  private final int column;
  private final int offsets;
  private final PackedFiles.Decoder decoder;

  // Streams of a pool, which are not freed. Each has memory of its own in libtorch's allocator, so
  // they are used again, the last one first. Guarded by itself.
  private final Deque<Long> idle = new ArrayDeque<>();

  /** Creates work that decodes a column of packed files, whose offsets are another column. */
  AheadOnDevice(String device, int column, int offsets, PackedFiles.Decoder decoder) {
    this.device = device;
    this.column = column;
    this.offsets = offsets;
    this.decoder = decoder;
  }

  @Override
  public Tensor[] apply(Tensor[] tensors, long seed, long epoch, long[] indices) {
    long lane = lane();
    long before = translating(() -> DeviceLane.enter(device, lane));
    try {
      return sent(tensors, seed, epoch, indices);
    } finally {
      try {
        // Also after a failure: copies read memory of the host that is reused from here on.
        DeviceLane.drain(device);
      } finally {
        DeviceLane.enter(device, before);
      }
      synchronized (idle) {
        idle.push(lane);
      }
    }
  }

  private Tensor[] sent(Tensor[] tensors, long seed, long epoch, long[] indices) {
    Checks.requireIndex("column", column, tensors.length);
    Checks.requireIndex("offsets", offsets, tensors.length);
    Device target = new Device(device);
    Tensor[] sent = new Tensor[tensors.length];
    for (int i = 0; i < sent.length; i++) {
      Tensor host = tensors[i];
      sent[i] =
          i == column
              ? decoder.decode(PackedFiles.of(host, tensors[offsets]), seed, epoch, indices)
              : host.to(target, host.scalar_type(), true, false, new MemoryFormatOptional());
    }
    return sent;
  }

  private long lane() {
    synchronized (idle) {
      Long free = idle.poll();
      if (free != null) {
        return free;
      }
    }
    return translating(() -> DeviceLane.open(device));
  }

  private static long translating(LongSupplier call) {
    try {
      return call.getAsLong();
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }
}
