// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.VariableLength;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.testing.FakeDevice;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** Encoded files of {@code index % 3} bytes, and their decoder on a fake device. */
final class NumberedFiles {
  static final int SIZE = 20;
  static final long SEED = 7;

  private static final List<RowSpec> COLUMNS =
      List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.UINT8, 2));

  private NumberedFiles() {}

  /** The files by index, some of which cannot be read. */
  record Files(Set<Long> broken) implements Dataset {
    @Override
    public long size() {
      return SIZE;
    }

    @Override
    public List<RowSpec> columns() {
      return COLUMNS;
    }

    @Override
    public List<VariableLength> variableLengths() {
      return List.of(VariableLength.packed(1));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      if (broken.contains(index)) {
        throw new IllegalArgumentException("no sample " + index);
      }
      put(index, sample);
    }

    static void put(long index, SampleWriter sample) {
      sample.putLong(0, 100 + index);
      byte[] file = new byte[(int) (index % 3)];
      Arrays.fill(file, (byte) index);
      sample.put(1, file);
    }
  }

  /** A stream of the same files. */
  record Shards() implements StreamDataset {
    @Override
    public int shards() {
      return 2;
    }

    @Override
    public List<RowSpec> columns() {
      return COLUMNS;
    }

    @Override
    public List<VariableLength> variableLengths() {
      return List.of(VariableLength.packed(1));
    }

    @Override
    public SampleStream open(long epoch, int shard, @Nullable String position) {
      long[] next = {position == null ? 0 : Long.parseLong(position)};
      return new SampleStream() {
        @Override
        public boolean next(SampleWriter sample) {
          if (next[0] == SIZE / 2) {
            return false;
          }
          Files.put(2 * next[0]++ + shard, sample);
          return true;
        }

        @Override
        public String position() {
          return Long.toString(next[0]);
        }

        @Override
        public void close() {}
      };
    }
  }

  private static Tensor onDevice(long[] numbers, long rows) {
    Tensor host = torch.tensor(numbers).view(rows, numbers.length / rows);
    return host.to(
        new Device(FakeDevice.NAME), host.scalar_type(), true, false, new MemoryFormatOptional());
  }

  /** Returns length, seed, epoch and index of each file on the device. */
  static Tensor decoded(List<byte[]> files, long seed, long epoch, long[] indices) {
    long[] rows = new long[4 * indices.length];
    for (int i = 0; i < indices.length; i++) {
      long[] row = {files.get(i).length, seed, epoch, indices[i]};
      System.arraycopy(row, 0, rows, 4 * i, 4);
    }
    if (rows.length == 0) {
      Tensor none = torch.empty(0, 4);
      return none.to(new Device(FakeDevice.NAME), none.scalar_type());
    }
    return onDevice(rows, indices.length);
  }

  /** Requires that a batch holds the samples of its indices, on the device. */
  static void assertHolds(Batch batch, long epoch) {
    long[] indices = batch.indices();
    for (int column = 0; column < 3; column++) {
      assertThat(batch.tensor(column).device().str().getString()).isEqualTo(FakeDevice.NAME);
    }
    assertThat(Rows.longs(batch.tensor(0)))
        .isEqualTo(Arrays.stream(indices).map(i -> 100 + i).toArray());
    assertThat(Rows.longs(batch.tensor(1)))
        .isEqualTo(
            Arrays.stream(indices).flatMap(i -> LongStream.of(i % 3, SEED, epoch, i)).toArray());
    assertThat(batch.tensor(2).numel()).isEqualTo(indices.length + 1);
  }
}
