// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.bindings.BatchFeed;
import io.torchfeed.bindings.NativeHandle;
import org.bytedeco.javacpp.Pointer;

/**
 * A loader's own reference to the rows of a dataset, in memory or in files; the dataset may be
 * closed.
 */
public final class NativeRows implements AutoCloseable {
  /** A function that creates an engine over native rows. */
  @FunctionalInterface
  public interface Opener<P extends Pointer> {
    BatchFeed over(P rows, long batchRows, long workers, long prefetch, boolean inOrder);
  }

  /** A function that creates an engine, without the type of its rows. */
  @FunctionalInterface
  private interface Maker {
    NativeHandle<BatchFeed> make(NativeEngineOptions options);
  }

  private final NativeHandle<?> rows;
  private final Maker maker;

  private NativeRows(NativeHandle<?> rows, Maker maker) {
    this.rows = rows;
    this.maker = maker;
  }

  /** Takes ownership of {@code rows}. */
  public static <P extends Pointer> NativeRows of(NativeHandle<P> rows, Opener<P> opener) {
    return new NativeRows(
        rows,
        options ->
            rows.call(
                held ->
                    NativeHandle.create(
                        "DataLoader",
                        () ->
                            opener.over(
                                held,
                                options.batchRows(),
                                options.workers(),
                                options.prefetch(),
                                options.inOrder()))));
  }

  /** Creates an engine over the rows; the caller closes it. */
  NativeHandle<BatchFeed> engine(NativeEngineOptions options) {
    return maker.make(options);
  }

  @Override
  public void close() {
    rows.close();
  }
}
