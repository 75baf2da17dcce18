// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.Part;
import io.torchfeed.table.CategoryColumn;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableTensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams: each row once, in an order that depends on nothing but the data, from any batch on. */
@Timeout(120)
class ParquetStreamTest {
  static final int SHARDS = 5;

  static ParquetStream stream() {
    return Clicks.rows(Clicks.files()).stream(SHARDS).shuffled(40, 7);
  }

  static List<Long> sorted(List<Long> ids) {
    return ids.stream().sorted().toList();
  }

  static List<List<Long>> epoch(ParquetStream stream, long epoch, int workers) {
    try (DataLoader loader = Clicks.loader(stream, Part.whole(), workers)) {
      return Clicks.ids(loader.epoch(epoch));
    }
  }

  @Test
  void oneShardHasTheOrderOfTheFiles() {
    List<List<Long>> batches = epoch(Clicks.rows(Clicks.files()).stream(1), 3, 1);

    assertThat(Clicks.flat(batches)).isEqualTo(Clicks.all());
    assertThat(batches).hasSize(Math.ceilDiv(Clicks.ROWS, 16)); // over the ends of row groups
  }

  @Test
  void numbersBecomeThoseOfTheDtype() {
    ParquetStream stream =
        Clicks.files()
            .rows(ParquetColumn.of("id", DType.FLOAT64), ParquetColumn.of("x", DType.FLOAT64, 3))
            .stream(1);
    long id = 0;
    try (DataLoader loader = Clicks.loader(stream, Part.whole(), 0);
        Batches pass = loader.epoch(0)) {
      for (Batch batch : pass) {
        for (int i = 0; i < batch.size(); i++, id++) {
          assertThat(batch.tensor("id").data_ptr_double().get(i)).isEqualTo((double) id);
          assertThat(batch.tensor("x").data_ptr_double().get(3L * i + 1)).isEqualTo(id / 2.0);
        }
      }
    }
    assertThat(id).isEqualTo(Clicks.ROWS);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 39, 40, 100, 100_000})
  void eachEpochHasEachRowOnceInAnOrderOfItsOwn(int window) {
    ParquetStream stream = Clicks.rows(Clicks.files()).stream(SHARDS).shuffled(window, 7);
    List<List<Long>> first = epoch(stream, 0, 0);

    assertThat(sorted(Clicks.flat(first))).isEqualTo(Clicks.all());
    assertThat(epoch(stream, 0, 3)).isEqualTo(first);
    assertThat(epoch(stream, 1, 2)).isNotEqualTo(first);
    assertThat(sorted(Clicks.flat(epoch(stream, 1, 2)))).isEqualTo(Clicks.all());
    assertThat(epoch(Clicks.rows(Clicks.files()).stream(SHARDS).shuffled(window, 8), 0, 0))
        .isNotEqualTo(first);
  }

  @Test
  void windowsStayInTheirRowGroupAndMoveRowsByAThird() {
    long moved = 0;
    int epochs = 40;
    int window = 50;
    Set<Long> firsts = new HashSet<>();
    List<List<Long>> orders = new ArrayList<>();
    ParquetStream stream = Clicks.rows(Clicks.files()).stream(1).shuffled(window, 1);
    for (int epoch = 0; epoch < epochs; epoch++) {
      List<Long> ids = Clicks.flat(epoch(stream, epoch, 0));
      firsts.add(ids.get(0) / 50);
      for (int i = 0; i < ids.size(); ) {
        long start = group(ids.get(i)) + (ids.get(i) - group(ids.get(i))) / window * window;
        List<Long> one = new ArrayList<>();
        for (; i < ids.size() && one.size() < size(start, window); i++) {
          moved += Math.abs(ids.get(i) - start - one.size());
          one.add(ids.get(i));
        }
        orders.add(one.stream().map(id -> id - start).toList());
        assertThat(Collections.min(one)).isEqualTo(start);
        assertThat(Collections.max(one)).isEqualTo(start + size(start, window) - 1);
      }
    }
    assertThat((double) moved / epochs / Clicks.ROWS).isBetween(window / 3.0 - 2, window / 3.0 + 1);
    assertThat(firsts).hasSizeGreaterThan(8);
    assertThat(orders).doesNotHaveDuplicates();
  }

  @Test
  void shardsHaveEqualPartsOfTheRows() {
    for (int shards : new int[] {2, 3, 5}) {
      StreamRule rule = StreamRule.of(Clicks.rows(Clicks.files()).plan(), shards).shuffled(9, 3);
      for (int epoch = 0; epoch < 5; epoch++) {
        Set<Integer> groups = new HashSet<>();
        for (int shard = 0; shard < shards; shard++) {
          long rows = 0;
          for (StorePlan.Piece piece : rule.pieces(epoch, shard)) {
            rows += piece.group().rows();
            assertThat(groups.add(piece.number())).isTrue();
          }
          assertThat(Math.abs(rows - Clicks.ROWS / shards)).isLessThan(Clicks.MAX_GROUP);
        }
        assertThat(groups).hasSize(Clicks.GROUPS);
      }
    }
  }

  private static long group(long id) {
    return id < 700 ? id / 100 * 100 : 700 + (id - 700) / 90 * 90;
  }

  private static int size(long start, int window) {
    long end = start < 700 ? group(start) + 100 : Math.min(group(start) + 90, Clicks.ROWS);
    return (int) Math.min(window, end - start);
  }

  @Test
  void columnsHaveTheValuesOfPyarrow() {
    for (Golden.Expected expected : Golden.columns()) {
      ParquetStream stream =
          ParquetFiles.of(Golden.file("zstd_v2.parquet")).rows(expected.column()).stream(1);
      StringBuilder bytes = new StringBuilder();
      try (DataLoader loader = DataLoader.over(stream).batchSize(7).build();
          Batches pass = loader.epoch(0)) {
        for (Batch batch : pass) {
          Tensor tensor = batch.tensor(0);
          byte[] own = new byte[(int) (tensor.numel() * tensor.element_size())];
          try (BytePointer pointer = new BytePointer(tensor.data_ptr())) {
            pointer.get(own);
          }
          bytes.append(HexFormat.of().formatHex(own));
        }
      }
      assertThat(bytes).as("%s", expected.column()).hasToString(expected.bytes());
    }
  }

  @Test
  void tablesAreStreamed() {
    ParquetFiles files = Clicks.files();
    TableColumns columns =
        TableColumns.of(TableTensor.categories("word", CategoryColumn.of("word")));
    FittedColumns fitted = files.fit(columns);
    try (DataLoader loader =
            DataLoader.over(files.rows(fitted).stream(1)).batchSize(Clicks.ROWS).build();
        Batches pass = loader.epoch(0)) {
      Tensor words = pass.next().tensor("word");
      for (int i = 0; i < Clicks.ROWS; i++) {
        assertThat(words.data_ptr_long().get(i)).isEqualTo(i % 3);
      }
    }
  }

  @Test
  void aRowThatDoesNotFitIsNamedOrLeftOut() {
    ParquetStream stream =
        Clicks.files()
            .rows(ParquetColumn.of("id", DType.INT64), ParquetColumn.of("gap", DType.INT32))
            .stream(2)
            .shuffled(30, 1);
    try (DataLoader loader = DataLoader.over(stream).batchSize(100).build();
        Batches pass = loader.epoch(0)) {
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(pass::next)
          .withMessageContaining("part-")
          .withMessageContaining(", column gap = gap: int32 []: the value must not be null");
    }
    List<Long> seen = new ArrayList<>();
    try (DataLoader loader =
            DataLoader.over(stream).batchSize(9).onFailure(FailurePolicy.skipSample()).build();
        Batches pass = loader.epoch(0)) {
      for (Batch batch : pass) {
        for (int i = 0; i < batch.size(); i++) {
          seen.add(batch.tensor("id").data_ptr_long().get(i));
        }
      }
      assertThat(loader.stats().skipped()).isEqualTo(Clicks.ROWS - seen.size());
    }
    assertThat(sorted(seen)).isEqualTo(Clicks.all().stream().filter(id -> id % 7 != 3).toList());
  }

  @Test
  void aReadThatFailsOnceIsTriedAgain() {
    List<CountedSource> sources = Clicks.sources("1");
    ParquetStream stream = Clicks.rows(ParquetFiles.of(sources)).stream(SHARDS).shuffled(40, 7);
    try (DataLoader loader =
            DataLoader.over(stream)
                .batchSize(16)
                .onFailure(FailurePolicy.report().afterRetries(2))
                .build();
        Batches pass = loader.epoch(0)) {
      List<List<Long>> seen = new ArrayList<>();
      while (pass.hasNext()) {
        seen.add(Clicks.ids(pass.next()));
        if (seen.size() % 10 == 0) {
          sources.get(seen.size() / 10 % 2).failures.set(1);
        }
      }
      assertThat(seen).isEqualTo(epoch(stream(), 0, 0));
    }
  }

  @Test
  void aFileThatChangesEndsItsShards() {
    List<CountedSource> sources = Clicks.sources("1");
    ParquetStream stream = Clicks.rows(ParquetFiles.of(sources)).stream(1).shuffled(40, 7);
    try (DataLoader loader = Clicks.loader(stream, Part.whole(), 0);
        Batches pass = loader.epoch(0)) {
      pass.next();
      sources.forEach(source -> source.version = "2");
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(() -> Clicks.ids(pass))
          .withMessageContaining("has changed since its footer was read; read it again");
    }
  }

  @Test
  void shardsAndWindowsAreLimited() {
    ParquetRows rows = Clicks.rows(Clicks.files());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> rows.stream(0))
        .withMessage("shards must be in [1, 65536], got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> rows.stream(1).shuffled(0, 1))
        .withMessage("window must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> rows.stream(1).shuffled(1 << 30, 1))
        .withMessageStartingWith("a window must have fewer than 2^31 bytes of a column, got");
  }

  @Test
  void threadsEndWithThePass() throws InterruptedException {
    try (DataLoader loader = Clicks.loader(stream(), Part.whole(), 2);
        Batches pass = loader.epoch(0)) {
      pass.next();
      assertThat(decoders()).isPositive();
    }
    for (int i = 0; i < 500 && decoders() > 0; i++) {
      Thread.sleep(10);
    }
    assertThat(decoders()).isZero();
  }

  private static long decoders() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("hardwood-"))
        .count();
  }
}
