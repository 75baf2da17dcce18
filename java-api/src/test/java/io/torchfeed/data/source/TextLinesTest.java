// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.Counters;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.VariableLength;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.ResumeMismatchException;
import io.torchfeed.text.LineOptions;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.LongStream;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TextLinesTest {
  private static final int LINES = 60;
  private static final List<RowSpec> COLUMNS =
      List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.FLOAT32, 2));

  private Path folder;

  /** Writes lines in which line i is "i,i/2,-i", to three files, the last one compressed. */
  @BeforeEach
  void write(@TempDir Path temporary) throws IOException {
    folder = temporary;
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < LINES; i++) {
      text.append(i).append(", ").append(i / 2.0).append(',').append(-i).append('\n');
      if (i == 25) {
        Files.writeString(folder.resolve("a.csv"), text);
        text.setLength(0);
      } else if (i == 40) {
        Files.writeString(folder.resolve("b.csv"), text);
        text.setLength(0);
      }
    }
    try (OutputStream out =
        new GZIPOutputStream(Files.newOutputStream(folder.resolve("c.csv.gz")))) {
      out.write(text.toString().getBytes(StandardCharsets.UTF_8));
    }
  }

  private TextLines lines(int shards) {
    return TextLines.of(List.of(folder.toString()), shards);
  }

  private static StreamDataset rows(ObjectStreamDataset<TextLines.TextLine> lines) {
    return lines.encode(TextRows.separatedBy(",", COLUMNS));
  }

  private static List<Long> values(Batches pass) {
    List<Long> values = new ArrayList<>();
    try (pass) {
      for (Batch batch : pass) {
        List<Long> first = Counters.longs(batch, 0);
        float[] rest = new float[2 * batch.size()];
        batch.tensor(1).data_ptr_float().get(rest);
        for (int i = 0; i < first.size(); i++) {
          assertThat(rest[2 * i]).isEqualTo(first.get(i) / 2f);
          assertThat(rest[2 * i + 1]).isEqualTo((float) -first.get(i));
        }
        values.addAll(first);
      }
    }
    return values;
  }

  private static List<Long> values(StreamDataset data, int workers, long epoch) {
    try (DataLoader loader = DataLoader.over(data).batchSize(4).workers(workers).build()) {
      return values(loader.epoch(epoch));
    }
  }

  private static List<Long> all() {
    return LongStream.range(0, LINES).boxed().toList();
  }

  @Test
  void oneShardHasTheLinesInFileOrder() {
    assertThat(values(rows(lines(1)), 1, 0)).isEqualTo(all());
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 5, 200})
  void everyLineIsDeliveredOnceForAnyNumberOfWorkers(int shards) {
    List<Long> alone = values(rows(lines(shards)), 0, 0);
    assertThat(alone).containsExactlyInAnyOrderElementsOf(all());
    assertThat(values(rows(lines(shards)), 2, 0)).isEqualTo(alone);
    assertThat(values(rows(lines(shards)), 4, 1)).isEqualTo(alone);
  }

  @Test
  void aWindowIsPermutedDifferentlyInEachEpoch() {
    StreamDataset data = rows(lines(1).shuffled(16, 42));
    List<Long> first = values(data, 1, 0);
    List<Long> second = values(data, 1, 1);
    assertThat(first).isNotEqualTo(second);
    assertThat(values(data, 2, 0)).isEqualTo(first);
    assertThat(values(rows(lines(1).shuffled(16, 43)), 1, 0)).isNotEqualTo(first);
    for (List<Long> order : List.of(first, second)) {
      for (int from = 0; from < LINES; from += 16) {
        int to = Math.min(LINES, from + 16);
        assertThat(order.subList(from, to))
            .containsExactlyInAnyOrderElementsOf(all().subList(from, to))
            .isNotEqualTo(all().subList(from, to));
      }
    }
    List<Long> rotated = new ArrayList<>(first);
    Collections.rotate(rotated, 16);
    assertThat(rotated).isNotEqualTo(first);
  }

  @ParameterizedTest
  @CsvSource({"1,1", "3,1", "3,7", "3,100"})
  void aPassResumesAtEachBatchWithinTheWindow(int shards, int window) {
    StreamDataset data = rows(lines(shards).shuffled(window, 5));
    List<Long> whole = values(data, 2, 3);
    int delivered = 0;
    try (DataLoader loader = DataLoader.over(data).batchSize(4).workers(2).build();
        Batches pass = loader.epoch(3)) {
      while (pass.hasNext()) {
        delivered += pass.next().size();
        LoaderState state = LoaderState.fromJson(pass.state().toJson());
        try (DataLoader other = DataLoader.over(data).batchSize(4).workers(1).build()) {
          assertThat(values(other.resume(state))).isEqualTo(whole.subList(delivered, LINES));
        }
      }
    }
    assertThat(delivered).isEqualTo(LINES);
  }

  @Test
  void otherRanksReadTheRemainder() {
    StreamDataset data = rows(lines(5).shuffled(7, 5));
    List<Long> seen = new ArrayList<>();
    List<LoaderState> states = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      try (DataLoader loader = DataLoader.over(data).part(new Part(2, rank)).batchSize(3).build();
          Batches pass = loader.epoch(0)) {
        seen.addAll(Counters.longs(pass.next(), 0));
        seen.addAll(Counters.longs(pass.next(), 0));
        states.add(pass.state());
      }
    }
    for (int rank = 0; rank < 3; rank++) {
      try (DataLoader loader = DataLoader.over(data).part(new Part(3, rank)).batchSize(4).build()) {
        seen.addAll(values(loader.resume(states)));
      }
    }
    assertThat(seen).containsExactlyInAnyOrderElementsOf(all());
  }

  @Test
  void aStateOfOtherFilesIsRefused() {
    LoaderState state;
    try (DataLoader loader = DataLoader.over(rows(lines(2))).build();
        Batches pass = loader.epoch(0)) {
      pass.next();
      state = pass.state();
    }
    TextLines others = TextLines.of(List.of(folder.resolve("a.csv").toString()), 2);
    try (DataLoader loader = DataLoader.over(rows(others)).build()) {
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> loader.resume(state))
          .satisfies(e -> assertThat(e.parameter()).isEqualTo("plan"));
    }
    try (DataLoader loader = DataLoader.over(rows(lines(2).shuffled(9, 9))).build()) {
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> loader.resume(state))
          .satisfies(e -> assertThat(e.parameter()).isEqualTo("kind"));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "7,x,1|field 1: a float32 must be a decimal number of at most 3.4028235e38 in magnitude,"
            + " inf or nan, got \"x\"",
        "7,0X1P3,1|field 1: a float32 must be a decimal number of at most 3.4028235e38 in"
            + " magnitude, inf or nan, got \"0X1P3\"",
        "７,1,1|field 0: an int64 must be a whole number of 64 bits, got \"７\"",
        "7.0,1,1|field 0: an int64 must be a whole number of 64 bits, got \"7.0\"",
        "7,1|field 2: a line must have 3 fields, got \"7,1\"",
        "7,1,1,1|field 3: a line must have 3 fields, got \"7,1,1,1\""
      })
  void aMalformedLineIsReported(String line, String problem) throws IOException {
    Path file = folder.resolve("bad.txt");
    Files.writeString(file, "1,0.5,-1\n" + line + "\n3,1.5,-3\n");
    TextLines lines = TextLines.of(List.of(file.toString()), 1);
    try (DataLoader loader = DataLoader.over(rows(lines)).build();
        Batches pass = loader.epoch(0)) {
      pass.next();
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(pass::next)
          .havingCause()
          .isInstanceOf(FieldException.class)
          .withMessage(file + ", byte 9, " + problem)
          .satisfies(e -> assertThat(((FieldException) e).place()).isEqualTo("byte 9"));
      assertThat(Counters.longs(pass.next(), 0)).containsExactly(3L);
      assertThat(pass.hasNext()).isFalse();
    }
  }

  @Test
  void aLineThatIsTooLongEndsOnlyItsShard() throws IOException {
    Path file = folder.resolve("long.txt");
    Files.writeString(file, "1,0.5,-1\n" + "9".repeat(500) + "\n");
    LineOptions options = LineOptions.defaults().withBufferBytes(64).withMaxLineBytes(100);
    TextLines lines = TextLines.of(TextPartition.plan(List.of(file.toString()), 1), options);
    for (ObjectStreamDataset<TextLines.TextLine> stream : List.of(lines, lines.shuffled(10, 1))) {
      try (DataLoader loader = DataLoader.over(rows(stream)).build();
          Batches pass = loader.epoch(0)) {
        int failures = 0;
        int batches = 0;
        while (pass.hasNext()) {
          try {
            pass.next();
            batches++;
          } catch (SampleException e) {
            assertThat(e).hasMessageContaining("a line must have at most 100 bytes");
            failures++;
          }
        }
        assertThat(batches).isEqualTo(1);
        assertThat(failures).isBetween(1, 3);
        assertThat(pass.state().finished()).isFalse();
      }
    }
  }

  @Test
  void linesAreMappedByTheWorkers() {
    ObjectStreamDataset<String> texts =
        lines(2).map(line -> line.text().substring(0, line.text().indexOf(',')));
    StreamDataset data =
        texts.encode(
            new SampleEncoder<String>() {
              @Override
              public List<RowSpec> columns() {
                return List.of(RowSpec.of(DType.UINT8, 3));
              }

              @Override
              public List<VariableLength> variableLengths() {
                return List.of(VariableLength.packed(0));
              }

              @Override
              public void write(String text, SampleWriter sample) {
                sample.put(0, text.getBytes(StandardCharsets.US_ASCII));
              }
            });
    StringBuilder seen = new StringBuilder();
    try (DataLoader loader = DataLoader.over(data).batchSize(7).build();
        Batches pass = loader.epoch(0)) {
      for (Batch batch : pass) {
        byte[] bytes = new byte[(int) batch.tensor(0).numel()];
        batch.tensor(0).data_ptr_byte().get(bytes);
        seen.append(new String(bytes, StandardCharsets.US_ASCII));
        assertThat(Rows.longs(batch.tensor(1))).hasSize(batch.size() + 1);
      }
    }
    StringBuilder expected = new StringBuilder();
    values(rows(lines(2)), 1, 0, 7).forEach(expected::append);
    assertThat(seen).hasToString(expected.toString());
  }

  private static List<Long> values(StreamDataset data, int workers, long epoch, int batchSize) {
    try (DataLoader loader = DataLoader.over(data).batchSize(batchSize).workers(workers).build()) {
      return values(loader.epoch(epoch));
    }
  }

  @Test
  void aFailureInAWindowLosesOnlyItsObject() {
    ObjectStreamDataset<Long> numbers =
        new ObjectStreamDataset<>() {
          @Override
          public int shards() {
            return 1;
          }

          @Override
          public ObjectStreamDataset.ObjectStream<Long> open(
              long epoch, int shard, @Nullable String position) {
            return new ObjectStreamDataset.ObjectStream<>() {
              private long next = position == null ? 0 : Long.parseLong(position);

              @Override
              public @Nullable Long next() throws IOException {
                long number = next++;
                if (number == 7) {
                  throw new IOException("seven");
                }
                return number < 20 ? number : null;
              }

              @Override
              public String position() {
                return Long.toString(Math.min(next, 20));
              }

              @Override
              public void close() {}
            };
          }
        };
    SampleEncoder<Long> collator =
        new SampleEncoder<>() {
          @Override
          public List<RowSpec> columns() {
            return List.of(RowSpec.of(DType.INT64));
          }

          @Override
          public void write(Long number, SampleWriter sample) {
            sample.putLong(0, number);
          }
        };
    try (DataLoader loader =
            DataLoader.over(numbers.shuffled(8, 3).encode(collator))
                .batchSize(4)
                .onFailure(FailurePolicy.skipSample())
                .build();
        Batches pass = loader.epoch(0)) {
      List<Long> seen = new ArrayList<>();
      pass.forEach(batch -> seen.addAll(Counters.longs(batch, 0)));
      List<Long> expected = new ArrayList<>(LongStream.range(0, 20).boxed().toList());
      expected.remove(7L);
      assertThat(seen).containsExactlyInAnyOrderElementsOf(expected);
    }
  }

  @Test
  void argumentsOutOfRangeAreRefused() {
    assertThatIllegalArgumentException().isThrownBy(() -> lines(0));
    assertThatIllegalArgumentException().isThrownBy(() -> lines(1).shuffled(0, 1));
    assertThatIllegalArgumentException().isThrownBy(() -> TextRows.separatedBy("", COLUMNS));
    assertThatIllegalArgumentException().isThrownBy(() -> TextRows.separatedBy(",", List.of()));
  }
}
