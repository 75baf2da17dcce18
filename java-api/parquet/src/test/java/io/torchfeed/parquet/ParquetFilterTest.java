// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.hardwood.reader.FilterPredicate;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.parquet.ParquetException.Problem;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.ResumeMismatchException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Streams with filters, and the bytes that are read of the files. */
@Timeout(120)
class ParquetFilterTest {
  private static final FilterPredicate LATE = FilterPredicate.gtEq("id", 950L);

  private static List<Long> ids(ParquetStream stream) {
    try (DataLoader loader = Clicks.loader(stream, Part.whole(), 1)) {
      return Clicks.flat(Clicks.ids(loader.epoch(0)));
    }
  }

  private static List<Long> matching(LongPredicate rule) {
    return Clicks.all().stream().filter(rule::test).toList();
  }

  private static Arguments filter(FilterPredicate filter, LongPredicate rule) {
    return Arguments.of(filter, rule);
  }

  static List<Arguments> filters() {
    return List.of(
        filter(LATE, id -> id >= 950),
        filter(FilterPredicate.lt("id", 0L), id -> false),
        filter(FilterPredicate.eq("word", "w1"), id -> id % 3 == 1),
        filter(FilterPredicate.in("day", 2, 17), id -> id / 50 == 2 || id / 50 == 17),
        filter(FilterPredicate.isNull("gap"), id -> id % 7 == 3),
        filter(FilterPredicate.gt("gap", 500), id -> id % 7 != 3 && id > 500),
        filter(
            FilterPredicate.and(
                FilterPredicate.isNotNull("user.age"), FilterPredicate.ltEq("user.age", 9)),
            id -> id % 11 != 5 && id % 11 != 6 && id % 90 <= 9),
        filter(
            FilterPredicate.not(FilterPredicate.inStrings("word", "w0", "w2")), id -> id % 3 == 1));
  }

  @ParameterizedTest
  @MethodSource("filters")
  void rowsAreThoseThatMatch(FilterPredicate filter, LongPredicate rule) {
    ParquetRows rows = Clicks.rows(Clicks.files());

    assertThat(ids(rows.stream(1).filtered(filter))).isEqualTo(matching(rule));
    assertThat(ids(rows.stream(3).shuffled(25, 4).filtered(filter)))
        .containsExactlyInAnyOrderElementsOf(matching(rule));
  }

  @Test
  void aFilteredPassContinuesAtAnyBatchOnOtherRanks() {
    ParquetStream stream =
        Clicks.rows(Clicks.files()).stream(3)
            .filtered(FilterPredicate.eq("word", "w1"))
            .shuffled(25, 4);
    for (int taken = 0; taken < 20; taken++) {
      List<Long> seen = new ArrayList<>();
      LoaderState state;
      try (DataLoader loader = Clicks.loader(stream, Part.whole(), 1);
          Batches pass = loader.epoch(0)) {
        for (int i = 0; i < taken; i++) {
          seen.addAll(Clicks.ids(pass.next()));
        }
        state = pass.state();
      }
      for (int rank = 0; rank < 2; rank++) {
        try (DataLoader loader = Clicks.loader(stream, Part.rank(rank).of(2), 0)) {
          seen.addAll(Clicks.flat(Clicks.ids(loader.resume(List.of(state)))));
        }
      }
      assertThat(seen).containsExactlyInAnyOrderElementsOf(matching(id -> id % 3 == 1));
    }
  }

  @Test
  void aStateOfAnotherFilterIsRefused() {
    ParquetStream stream =
        Clicks.rows(Clicks.files()).stream(1).filtered(FilterPredicate.in("day", 2, 17));
    LoaderState state;
    try (DataLoader loader = Clicks.loader(stream, Part.whole(), 0);
        Batches pass = loader.epoch(0)) {
      pass.next();
      state = pass.state();
      assertThat(loader.resume(state).hasNext()).isTrue();
    }
    ParquetStream other =
        Clicks.rows(Clicks.files()).stream(1).filtered(FilterPredicate.in("day", 2, 18));
    assertThat(stream.parameters())
        .isEqualTo(
            Clicks.rows(Clicks.files()).stream(1)
                .filtered(FilterPredicate.in("day", 2, 17))
                .parameters());
    try (DataLoader loader = Clicks.loader(other, Part.whole(), 0)) {
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> loader.resume(state))
          .withMessageContaining("filter");
    }
  }

  /** Returns the bytes of columns that reading a stream takes, file by file. */
  private static List<Long> bytes(List<CountedSource> sources, ParquetStream stream, long rows) {
    sources.forEach(CountedSource::forget);
    try (DataLoader loader = DataLoader.over(stream).batchSize(64).build();
        Batches pass = loader.epoch(0)) {
      long seen = 0;
      while (pass.hasNext()) {
        seen += pass.next().size();
      }
      assertThat(seen).isEqualTo(rows);
    }
    return Clicks.columnBytes(sources);
  }

  @Test
  void onlyColumnsThatAreNeededAreRead() {
    List<CountedSource> sources = Clicks.sources("1");
    ParquetFiles files = ParquetFiles.of(sources);
    ParquetColumn id = ParquetColumn.of("id", DType.INT64);
    ParquetColumn junk = ParquetColumn.of("junk", DType.UINT8, 24);

    assertThat(bytes(sources, files.rows(junk).stream(1), Clicks.ROWS))
        .allMatch(bytes -> bytes > 300 * 24);
    assertThat(bytes(sources, files.rows(id).stream(1), Clicks.ROWS))
        .allMatch(bytes -> bytes > 0 && bytes < 7 * 500);
  }

  @Test
  void rowGroupsInWhichNoRowMatchesAreNotRead() {
    List<CountedSource> sources = Clicks.sources("1");
    ParquetStream junk =
        ParquetFiles.of(sources).rows(ParquetColumn.of("junk", DType.UINT8, 24)).stream(1);

    assertThat(bytes(sources, junk.filtered(FilterPredicate.lt("id", 0L)), 0))
        .containsExactly(0L, 0L);
    List<Long> late = bytes(sources, junk.filtered(LATE), Clicks.ROWS - 950);

    assertThat(late.get(0)).isZero();
    assertThat(late.get(1)).isBetween((Clicks.ROWS - 950) * 24L, 11_000L); // two of four
  }

  @Test
  void aFilterThatDoesNotFitTheColumnsIsNamed() {
    ParquetRows rows = Clicks.rows(Clicks.files());
    for (FilterPredicate filter :
        List.of(
            FilterPredicate.gt("ident", 3L),
            FilterPredicate.gt("id", 3),
            FilterPredicate.gt("x", 3f))) {
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(() -> ids(rows.stream(1).filtered(filter)))
          .withMessageMatching(".*part-0\\.parquet: .*Column '(ident|id|x)' .*")
          .havingCause()
          .isInstanceOfSatisfying(
              ParquetException.class, e -> assertThat(e.problem()).isEqualTo(Problem.SCHEMA));
    }
  }
}
