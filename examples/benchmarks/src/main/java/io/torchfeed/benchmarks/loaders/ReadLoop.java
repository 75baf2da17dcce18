// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;

/**
 * A loop that reads the rows of a file with {@code pread} in one thread, in the loader's order,
 * into one reused batch buffer: the limit of row D.
 */
final class ReadLoop implements Contestant {
  private static final int LINE = 64;

  private final Row row;
  private final FileChannel channel;
  private final Sampler sampler;
  private final ByteBuffer buffer;
  private final long[] order;

  ReadLoop(RowData data) throws IOException {
    row = data.row();
    channel = FileChannel.open(data.file(), StandardOpenOption.READ);
    sampler = ShuffledSampler.of(row.rows(), TorchfeedLoading.SEED);
    // aligned like the loader's memory, which makes copies faster
    buffer = ByteBuffer.allocateDirect(row.batch() * row.width() + LINE).alignedSlice(LINE);
    order = new long[row.batch()];
  }

  @Override
  public long epoch(long number, BatchSink sink) throws IOException {
    long rows = 0;
    try (Cursor cursor = sampler.epoch(number)) {
      for (int size = next(cursor); size > 0; size = next(cursor)) {
        for (int i = 0; i < size; i++) {
          buffer.limit((i + 1) * row.width()).position(i * row.width());
          if (channel.read(buffer, order[i] * row.width()) != row.width()) {
            throw new IOException("short read");
          }
        }
        rows += size;
        if (sink instanceof Sums sums) {
          sums.add(sum(size));
        }
      }
    }
    return rows;
  }

  private int next(Cursor cursor) {
    return cursor.next(order, 0, order.length);
  }

  private long sum(int rows) {
    long sum = 0;
    for (int i = 0; i < rows * row.width(); i++) {
      sum += buffer.get(i) & 0xFF;
    }
    return sum;
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
