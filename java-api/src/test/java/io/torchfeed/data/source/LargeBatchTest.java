// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static io.torchfeed.testing.LargeTensors.ABOVE_2_GIB;
import static io.torchfeed.testing.LargeTensors.ABOVE_4_GIB;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.testing.LargeTensors;
import io.torchfeed.testing.ListedSampler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of batches of 2 GiB and more, and of rows that far behind the beginning of their source.
 */
@Tag("large")
class LargeBatchTest {
  private static final int COLUMNS = 3;
  private static final int ROW = 1 << 10;

  private final Path file;

  LargeBatchTest(@TempDir(factory = LargeTensors.InMemory.class) Path folder) {
    file = folder.resolve("rows");
  }

  /** One sample, whose columns together have a number of bytes, each with the number of its MiB. */
  private record OneSample(long bytes) implements Dataset {
    @Override
    public long size() {
      return 1;
    }

    @Override
    public List<RowSpec> columns() {
      return Collections.nCopies(COLUMNS, RowSpec.of(DType.UINT8, bytes / COLUMNS));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      byte[] piece = new byte[1 << 20];
      for (int column = 0; column < COLUMNS; column++) {
        for (long at = 0; at < bytes / COLUMNS; at += piece.length) {
          Arrays.fill(piece, valueAt(column, at));
          sample.put(column, piece, 0, (int) Math.min(piece.length, bytes / COLUMNS - at));
        }
      }
    }

    static byte valueAt(int column, long at) {
      return (byte) (31L * column + (at >> 20));
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB, ABOVE_4_GIB})
  void aBatchOfSeveralColumnsHasAllBytes(long bytes) {
    LargeTensors.assumeMemory(bytes);
    try (DataLoader loader = DataLoader.over(new OneSample(bytes)).workers(0).build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      for (int column = 0; column < COLUMNS; column++) {
        BytePointer data = new BytePointer(batch.tensor(column).data_ptr());
        for (long at = 0; at < bytes / COLUMNS; at += 1 << 20) {
          assertThat(data.get(at)).isEqualTo(OneSample.valueAt(column, at));
        }
      }
    }
  }

  /** Writes marks into a file of zeros that take no space. */
  private void writeMarks(long bytes) throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      long[] places = LargeTensors.places(bytes);
      for (int i = 0; i < places.length; i++) {
        channel.write(ByteBuffer.wrap(new byte[] {(byte) (i + 1)}), places[i]);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB, ABOVE_4_GIB})
  void aBatchOfSeveralColumnsOfAFileHasAllBytes(long bytes) throws IOException {
    LargeTensors.assumeMemory(bytes);
    writeMarks(bytes / COLUMNS);
    RowSpec row = RowSpec.of(DType.UINT8, bytes / COLUMNS);
    FileColumn column =
        FileColumn.raw(new RowLayout(row, 0, row.bytes(), ByteOrder.nativeOrder()), file);
    try (FileDataset data = FileDataset.of(column, column, column);
        DataLoader loader = DataLoader.over(data).workers(0).build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      for (int i = 0; i < COLUMNS; i++) {
        LargeTensors.assertMarked(batch.tensor(i).select(0, 0));
      }
    }
  }

  /** Asserts that the rows with marks, one after the other, have them. */
  private static void assertRows(DataLoaderBuilder over, long bytes) {
    long[] places = LargeTensors.places(bytes);
    long[] rows = Arrays.stream(places).map(place -> place / ROW).toArray();
    byte[] found = new byte[places.length];
    byte[] expected = new byte[places.length];
    try (DataLoader loader =
            over.sampler(new ListedSampler(rows)).batchSize(rows.length).workers(0).build();
        Batches batches = loader.epoch(0)) {
      Tensor batch = batches.next().tensor(0);
      for (int i = 0; i < places.length; i++) {
        found[i] = batch.get(i).get(places[i] % ROW).item_byte();
        expected[i] = (byte) (i + 1);
      }
    }
    assertThat(found).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB / ROW * ROW, ABOVE_4_GIB / ROW * ROW})
  void rowsOfAFileAreFoundBehindTwoGib(long bytes) throws IOException {
    writeMarks(bytes);
    RowLayout layout = new RowLayout(RowSpec.of(DType.UINT8, ROW), 0, ROW, ByteOrder.nativeOrder());
    try (FileDataset data = FileDataset.of(FileColumn.raw(layout, file))) {
      assertRows(DataLoader.over(data), bytes);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB / ROW * ROW, ABOVE_4_GIB / ROW * ROW})
  void rowsOfATensorAreFoundBehindTwoGib(long bytes) {
    LargeTensors.assumeMemory(0); // only the marks are written
    try (TensorDataset data = TensorDataset.of(LargeTensors.marked(bytes).view(-1, ROW))) {
      assertRows(DataLoader.over(data), bytes);
    }
  }
}
