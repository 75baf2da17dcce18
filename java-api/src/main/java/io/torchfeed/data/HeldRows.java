// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.bindings.BatchFeed;
import io.torchfeed.bindings.NativeHandle;
import org.bytedeco.javacpp.Pointer;

/**
 * A loader's own hold on the rows of a dataset, whatever they lie in; the dataset may be closed.
 */
final class HeldRows implements AutoCloseable {
  /** How a feed is made over native rows. */
  @FunctionalInterface
  interface Feeder<P extends Pointer> {
    BatchFeed over(P rows, long batchRows, long workers, long prefetch, boolean inOrder);
  }

  /** A feed maker, without the type of its rows. */
  @FunctionalInterface
  private interface Maker {
    NativeHandle<BatchFeed> make(NativeFeedOptions options);
  }

  private final NativeHandle<?> rows;
  private final Maker maker;

  private HeldRows(NativeHandle<?> rows, Maker maker) {
    this.rows = rows;
    this.maker = maker;
  }

  /** Takes ownership of {@code rows}. */
  static <P extends Pointer> HeldRows of(NativeHandle<P> rows, Feeder<P> feeder) {
    return new HeldRows(
        rows,
        options ->
            rows.call(
                held ->
                    NativeHandle.create(
                        "DataLoader",
                        () ->
                            feeder.over(
                                held,
                                options.batchRows(),
                                options.workers(),
                                options.prefetch(),
                                options.inOrder()))));
  }

  /** A new feed over the rows; the caller closes it. */
  NativeHandle<BatchFeed> feed(NativeFeedOptions options) {
    return maker.make(options);
  }

  @Override
  public void close() {
    rows.close();
  }
}
