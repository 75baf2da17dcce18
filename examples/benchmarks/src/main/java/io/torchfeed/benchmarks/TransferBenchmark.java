// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.DeviceBatch;
import io.torchfeed.memory.DeviceTransfer;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.pytorch.Tensor;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Benchmarks of copies of page-locked batches to a device, in KiB per millisecond: torchfeed's
 * transfer and bare copies into one tensor. Without such a device it fails and names the missing
 * part.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 2)
public class TransferBenchmark {
  private static final int BATCHES = 16;
  private static final int KIB = 8 << 10;
  private static final int BYTES = KIB << 10;

  /** The target device. */
  @Param("cuda:0")
  public String device;

  private DeviceTransfer transfer;
  private Slab slab;
  private Tensor view;
  private DeviceBatch target;

  /** Creates the batch, and the tensor that bare copies write to. */
  @Setup
  public void open() {
    transfer = DeviceTransfer.to(device, 3);
    slab = Slab.allocatePinned(List.of(RowSpec.of(DType.UINT8, BYTES)), 1, device);
    view = slab.view(0, 1);
    target = transfer.send(view);
    target.tensors();
  }

  /** Frees the batch and the tensor. */
  @TearDown
  public void close() {
    target.close();
    view.close();
    slab.close();
    transfer.close();
  }

  /** Copies with the transfer, double buffered. */
  @Benchmark
  @OperationsPerInvocation(BATCHES * KIB)
  public int transfer() {
    int last = 0;
    DeviceBatch ahead = transfer.send(view);
    for (int i = 0; i < BATCHES; i++) {
      try (DeviceBatch batch = ahead) {
        Tensor received = batch.tensors().get(0);
        if (i < BATCHES - 1) {
          ahead = transfer.send(view);
        } else {
          last = lastByte(received);
        }
      }
    }
    return last;
  }

  /** Copies into one tensor on the current stream. */
  @Benchmark
  @OperationsPerInvocation(BATCHES * KIB)
  public int bareCopies() {
    Tensor to = target.tensors().get(0);
    for (int i = 0; i < BATCHES; i++) {
      to.copy_(view, true);
    }
    return lastByte(to);
  }

  /** Reads the last byte, which waits for all earlier work in the stream. */
  private static int lastByte(Tensor tensor) {
    try (Tensor row = tensor.get(0);
        Tensor element = row.get(BYTES - 1)) {
      return element.item_byte();
    }
  }
}
