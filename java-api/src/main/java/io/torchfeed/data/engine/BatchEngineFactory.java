// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.task.LoaderMeter;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * The engines of a loader; each pass has an engine of its own.
 *
 * @param engines starts an engine; throws an {@link IllegalStateException} if it cannot be started
 * @param release releases the data; engines that are already started continue to work
 */
public record BatchEngineFactory(Supplier<? extends BatchEngine> engines, Runnable release)
    implements AutoCloseable {
  /** Returns the engines of JVM threads. */
  public static BatchEngineFactory ofThreads(JavaEngineOptions options, Runnable release) {
    return new BatchEngineFactory(() -> new JavaEngine(options), release);
  }

  /** Returns the engines that use libtorch's C++ data loader; takes ownership of the rows. */
  public static BatchEngineFactory ofLibtorch(
      NativeHandle<RowSet> rows, NativeEngineOptions options) {
    return new BatchEngineFactory(() -> NativeEngine.create(rows, options), rows::close);
  }

  /** Returns the engines whose batches stay in memory that is page-locked for a device. */
  public static BatchEngineFactory pinned(BatchEngineFactory host, String device) {
    return host.each(
        engine -> {
          engine.pinFor(device, true);
          return engine;
        });
  }

  /** Returns the engines that copy the batches of others to a device. */
  public static BatchEngineFactory copying(
      BatchEngineFactory host, String device, LoaderMeter meter) {
    return host.each(engine -> TransferEngine.over(engine, device, meter));
  }

  /**
   * Fails immediately if a device lacks something, rather than at the first batch.
   *
   * @throws IllegalArgumentException if libtorch has no such device
   * @throws IllegalStateException if memory cannot be page-locked for the device
   */
  public static void requireUsable(String device) {
    Slab.allocatePinned(List.of(RowSpec.of(DType.UINT8)), 1, device).close();
  }

  private BatchEngineFactory each(UnaryOperator<BatchEngine> change) {
    return new BatchEngineFactory(
        () -> {
          BatchEngine engine = start();
          try {
            return change.apply(engine);
          } catch (RuntimeException | Error e) {
            engine.close();
            throw e;
          }
        },
        release);
  }

  /**
   * Starts an engine.
   *
   * @throws IllegalStateException if its threads cannot be started
   */
  public BatchEngine start() {
    return engines.get();
  }

  @Override
  public void close() {
    release.run();
  }
}
