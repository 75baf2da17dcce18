// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** Keeps the processor busy with each batch, as a training step does. */
final class BusySink implements BatchSink {
  private final long nanosABatch;
  private long nanos;

  BusySink(long nanosABatch) {
    this.nanosABatch = nanosABatch;
  }

  @Override
  public void take(Tensor data, @Nullable Tensor labels) {
    long start = System.nanoTime();
    long now = start;
    while (now - start < nanosABatch) {
      now = System.nanoTime();
    }
    nanos += now - start;
  }

  /** For how long it was busy, which is longer than asked for where the machine took the core. */
  long nanos() {
    return nanos;
  }
}
