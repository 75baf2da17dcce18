// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.Part;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Tensor;

/** The rows of src/test/golden/stream_files.py, and the ids in a loader's batches. */
final class Clicks {
  static final int ROWS = 1007;
  static final int GROUPS = 11;
  static final int MAX_GROUP = 100;
  private static final List<Long> COLUMN_ENDS = List.of(47_472L, 21_749L);

  private Clicks() {}

  static List<Path> paths() {
    return List.of(Golden.file("stream/part-0.parquet"), Golden.file("stream/part-1.parquet"));
  }

  static ParquetFiles files() {
    return ParquetFiles.of(paths().get(0), paths().get(1));
  }

  /** Returns the bytes that were read of columns of the files: before their indices and footers. */
  static List<Long> columnBytes(List<CountedSource> sources) {
    List<Long> bytes = new ArrayList<>();
    for (int i = 0; i < sources.size(); i++) {
      long end = COLUMN_ENDS.get(i);
      bytes.add(
          sources.get(i).ranges().stream()
              .filter(range -> range.bytes() > 4 && range.offset() < end)
              .mapToLong(CountedSource.Range::bytes)
              .sum());
    }
    return bytes;
  }

  static List<CountedSource> sources(String version) {
    return paths().stream().map(path -> CountedSource.of(path, version)).toList();
  }

  static ParquetRows rows(ParquetFiles files) {
    return files.rows(
        ParquetColumn.of("id", DType.INT64),
        ParquetColumn.of("x", DType.FLOAT32, 3),
        ParquetColumn.of("gap", DType.INT32).withMissingValue(-1),
        ParquetColumn.of("user.age", DType.INT16).withName("age").withMissingValue(-2),
        ParquetColumn.of("need.n", DType.INT32).withMissingValue(-3));
  }

  static DataLoader loader(ParquetStream stream, Part part, int workers) {
    return DataLoader.over(stream).part(part).batchSize(16).workers(workers).build();
  }

  /** Returns the ids of the rest of a pass, batch by batch, and checks all columns. */
  static List<List<Long>> ids(Batches pass) {
    List<List<Long>> all = new ArrayList<>();
    try (pass) {
      while (pass.hasNext()) {
        all.add(ids(pass.next()));
      }
    }
    return all;
  }

  static List<Long> ids(Batch batch) {
    Tensor x = batch.tensor("x");
    assertThat(x.sizes().vec().get()).containsExactly(batch.size(), 3);
    long[] ids = new long[batch.size()];
    batch.tensor("id").data_ptr_long().get(ids);
    for (int i = 0; i < ids.length; i++) {
      long id = ids[i];
      assertThat(x.data_ptr_float().get(3L * i)).isEqualTo((float) id);
      assertThat(x.data_ptr_float().get(3L * i + 1)).isEqualTo(id / 2f);
      assertThat(x.data_ptr_float().get(3L * i + 2)).isEqualTo((float) -id);
      assertThat(batch.tensor("gap").data_ptr_int().get(i)).isEqualTo(id % 7 == 3 ? -1 : (int) id);
      assertThat(batch.tensor("age").data_ptr_short().get(i))
          .isEqualTo((short) (id % 11 == 5 || id % 11 == 6 ? -2 : id % 90));
      assertThat(batch.tensor("need.n").data_ptr_int().get(i))
          .isEqualTo(id % 13 == 5 ? -3 : (int) id);
    }
    return LongStream.of(ids).boxed().toList();
  }

  static List<Long> flat(List<List<Long>> batches) {
    return batches.stream().flatMap(List::stream).toList();
  }

  static List<Long> all() {
    return LongStream.range(0, ROWS).boxed().toList();
  }
}
