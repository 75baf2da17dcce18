// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.data.source.RowLayout;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.spark.RankContext;
import io.torchfeed.spark.RankRows;
import io.torchfeed.spark.RankTask;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;

/**
 * Loads the rows of a rank in batches, in turn with the same rows from files that are no rank's.
 *
 * @param rounds passes over each
 * @param batchSize rows of a batch
 */
record LoadTask(int rounds, int batchSize) implements RankTask<long[][]> {
  /** Returns the nanoseconds of each pass: over the rank's rows, and over the files. */
  @Override
  public long[][] train(RankContext context, RankRows rows) throws IOException {
    Path folder = Files.createTempDirectory("torchfeed-rates-");
    try (NativeDataset files = copy(rows, folder)) {
      long[][] nanos = new long[2][rounds];
      for (int round = 0; round < rounds; round++) {
        nanos[0][round] = pass(rows.loader(), rows.size(), round);
        nanos[1][round] = pass(DataLoader.over(files), rows.size(), round);
      }
      return nanos;
    } finally {
      Sparks.delete(folder);
    }
  }

  private NativeDataset copy(RankRows rows, Path folder) throws IOException {
    List<Path> paths = new ArrayList<>();
    List<FileChannel> channels = new ArrayList<>();
    try {
      for (int i = 0; i < rows.columns().size(); i++) {
        paths.add(folder.resolve("column-" + i));
        channels.add(
            FileChannel.open(
                paths.get(i), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE));
      }
      try (DataLoader loader = rows.loader().batchSize(batchSize).build();
          Batches batches = loader.epoch(0)) {
        while (batches.hasNext()) {
          Batch batch = batches.next();
          for (int i = 0; i < channels.size(); i++) {
            write(batch.tensor(i), channels.get(i));
          }
        }
      }
    } finally {
      for (FileChannel channel : channels) {
        channel.close();
      }
    }
    FileColumn[] columns = new FileColumn[paths.size()];
    for (int i = 0; i < columns.length; i++) {
      RowSpec row = rows.columns().get(i).row();
      columns[i] =
          FileColumn.raw(new RowLayout(row, 0, row.bytes(), ByteOrder.nativeOrder()), paths.get(i));
    }
    return FileDataset.of(columns);
  }

  private static void write(Tensor column, FileChannel to) throws IOException {
    byte[] bytes = new byte[Math.toIntExact(column.nbytes())]; // of a batch
    try (BytePointer memory = new BytePointer(column.data_ptr())) {
      memory.get(bytes);
    }
    ByteBuffer left = ByteBuffer.wrap(bytes);
    while (left.hasRemaining()) {
      to.write(left);
    }
  }

  private long pass(DataLoaderBuilder over, long size, long epoch) {
    try (DataLoader loader =
            over.batchSize(batchSize).sampler(ShuffledSampler.of(size, epoch)).build();
        Batches batches = loader.epoch(0)) {
      long start = System.nanoTime();
      while (batches.hasNext()) {
        batches.next();
      }
      return System.nanoTime() - start;
    }
  }
}
