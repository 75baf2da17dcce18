// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.data.source.RowLayout;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.spark.RankRows;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.RowOrder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;

/**
 * The rows of a partition in local files, one for each column: Spark's iterator can be read once,
 * and an epoch needs them again. The files are unlinked as soon as they are open, so that nothing
 * is left of them when the rank ends, however it ends.
 */
public final class RowSpool {
  private static final int BUFFER_BYTES = 1 << 18;
  private static final int ROWS_BETWEEN_CHECKS = 1 << 10;
  private static final long HASH_SEED = 42;

  private RowSpool() {}

  /** Ends the spooling by an exception if the task is to end. */
  public interface Check {
    void run();
  }

  /**
   * Writes all rows.
   *
   * @param folder has room for them
   * @param check called after some rows each
   * @return the rows; the caller closes them
   */
  public static RankRows write(
      Iterator<InternalRow> rows, RowEncoder encoder, RowOrder order, Path folder, Check check)
      throws IOException {
    Path own = Files.createTempDirectory(folder, "torchfeed-rows-");
    List<Path> files = new ArrayList<>();
    try {
      for (int i = 0; i < encoder.columns().size(); i++) {
        files.add(own.resolve("column-" + i));
      }
      HashList hashes = write(rows, encoder, files, check);
      NativeDataset dataset = open(encoder, files, hashes.size());
      return StoredRows.of(encoder.columns(), dataset, hashes, order);
    } finally {
      for (Path file : files) {
        Files.deleteIfExists(file);
      }
      Files.delete(own);
    }
  }

  private static HashList write(
      Iterator<InternalRow> rows, RowEncoder encoder, List<Path> files, Check check)
      throws IOException {
    HashList hashes = new HashList();
    List<Output> outputs = new ArrayList<>();
    try (RowEncoder.Buffer buffer = encoder.new Buffer()) {
      for (Path file : files) {
        outputs.add(new Output(file));
      }
      byte[] bytes = buffer.bytes();
      for (long number = 0; rows.hasNext(); number++) {
        if (number % ROWS_BETWEEN_CHECKS == 0) {
          check.run();
        }
        if (!buffer.encode(rows.next(), number)) {
          continue;
        }
        hashes.add(
            XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length, HASH_SEED));
        for (int i = 0; i < outputs.size(); i++) {
          outputs.get(i).write(buffer.column(i));
        }
      }
      for (Output output : outputs) {
        output.flush();
      }
      return hashes;
    } finally {
      for (Output output : outputs) {
        output.close();
      }
    }
  }

  private static NativeDataset open(RowEncoder encoder, List<Path> files, int rows) {
    List<FileColumn> columns = new ArrayList<>();
    List<String> names = encoder.columns().stream().map(RowColumn::name).toList();
    for (int i = 0; i < files.size(); i++) {
      RowSpec row = encoder.columns().get(i).row();
      if (names.indexOf(row.name()) != names.lastIndexOf(row.name())) {
        row = row.withName(""); // one column of the DataFrame as two of tensors
      }
      RowLayout layout = new RowLayout(row, 0, row.bytes(), ByteOrder.nativeOrder());
      columns.add(FileColumn.raw(layout, files.get(i)));
      if (columns.get(i).rows() != rows) {
        throw new IllegalStateException(
            "%d rows were written, but %s".formatted(rows, columns.get(i)));
      }
    }
    return FileDataset.of(columns.toArray(FileColumn[]::new));
  }

  /** A file that is written in pieces. */
  private static final class Output implements AutoCloseable {
    private final FileChannel channel;
    private final ByteBuffer pending = ByteBuffer.allocateDirect(BUFFER_BYTES);

    Output(Path file) throws IOException {
      channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    void write(ByteBuffer bytes) throws IOException {
      if (bytes.remaining() > pending.remaining()) {
        flush();
      }
      if (bytes.remaining() > pending.capacity()) {
        drain(bytes);
      } else {
        pending.put(bytes);
      }
    }

    void flush() throws IOException {
      drain(pending.flip());
      pending.clear();
    }

    private void drain(ByteBuffer bytes) throws IOException {
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }
}
