// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.Rows;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.CsvFile;
import io.torchfeed.data.source.FieldException;
import io.torchfeed.memory.DType;
import io.torchfeed.testing.LeakCheck;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(LeakCheck.class)
class TableRowsTest {
  private static final TableColumns COLUMNS =
      TableColumns.of(
          TableTensor.features(
              "x",
              NumberColumn.of("size").withMissingMean().withMissingMask().withStandardization(),
              CategoryColumn.of("colour").withUnknownAllowed()),
          TableTensor.categories("y", CategoryColumn.of("class").withCategories("no", "yes")));
  private static final String ROWS =
      "size,colour,class\n1,red,yes\n,blue,no\n3,red,no\n9,green,yes\n";

  private Path folder;

  @BeforeEach
  void makeFolder(@TempDir Path temporary) {
    folder = temporary;
  }

  private CsvFile write(String text) throws IOException {
    return CsvFile.of(Files.writeString(folder.resolve("data.csv"), text));
  }

  private static float[] floats(TableRows rows, FittedColumns fitted, String tensor) {
    try (TensorDataset data = rows.dataset(fitted);
        DataLoader loader = DataLoader.over(data).batchSize(rows.size()).build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      float[] values = new float[Math.toIntExact(batch.tensor(tensor).numel())];
      batch.tensor(tensor).data_ptr_float().get(values);
      return values;
    }
  }

  private static TableColumns numbers(NumberColumn column) {
    return TableColumns.of(TableTensor.features("x", column));
  }

  private static TableColumns categories(CategoryColumn column) {
    return TableColumns.of(TableTensor.categories("y", column));
  }

  @Test
  void aTrainingRowThatDoesNotFitDoesNotCount() {
    TableColumns columns =
        TableColumns.of(
            TableTensor.features(
                "x",
                NumberColumn.of("size").withMissingMean().withStandardization(),
                CategoryColumn.of("colour"),
                NumberColumn.of("weight")));
    TableLearner learner = TableLearner.of(columns);
    learner.add(1, "red", 2);
    for (Object[] row : new Object[][] {{7.5, "blue", null}, {null, "red", null}}) {
      assertThatExceptionOfType(TableValueException.class).isThrownBy(() -> learner.add(row));
    }
    learner.add(4, "green", 5);
    TableLearner others = TableLearner.of(columns);
    others.add(1, "red", 2);
    others.add(4, "green", 5);
    assertThat(learner.fit()).isEqualTo(others.fit());
  }

  @Test
  void onlyTheTrainingRowsTeach() throws IOException {
    TableRows rows = write(ROWS).read(COLUMNS);
    FittedColumns fitted = rows.fit(0, 1, 2);
    assertThat(rows.labels("y")).containsExactly(1, 0, 0, 1);
    assertThat(rows.labels(fitted, "y", 3, 1)).containsExactly(1, 0);
    assertThat(fitted.width("x")).isEqualTo(4);
    assertThat(fitted.categories("y")).containsExactly("no", "yes");
    assertThat(fitted.rows().toString()).isEqualTo("[x: float32 [4], y: int64 []]");
    float one = (float) (1 / Math.sqrt(2.0 / 3));
    assertThat(floats(rows, fitted, "x"))
        .containsExactly(
            -one,
            0,
            0,
            1, // blue, red
            0,
            1,
            1,
            0,
            one,
            0,
            0,
            1,
            (float) (7 / Math.sqrt(2.0 / 3)),
            0,
            0,
            0); // green was not seen
  }

  @Test
  void theIndicesOfMissingAndUnknownValuesAreTheLast() throws IOException {
    TableRows rows =
        write("a,b\n7,1\n,2\n5,3\n9,4\n")
            .read(
                categories(
                    CategoryColumn.ofNumbers("a").withMissingCategory().withUnknownAllowed()));
    FittedColumns fitted = rows.fit(0, 1, 2);
    assertThat(fitted.indexCount("y")).isEqualTo(4);
    assertThat(rows.labels(fitted, "y", 0, 1, 2, 3)).containsExactly(1, 2, 0, 3);
  }

  @Test
  void rareCategoriesAreUnknown() throws IOException {
    TableRows rows =
        write("a\nx\nx\ny\n")
            .read(categories(CategoryColumn.of("a").withUnknownAllowed().withMinCount(2)));
    FittedColumns fitted = rows.fit();
    assertThat(fitted.categories("y")).containsExactly("x");
    assertThat(rows.labels(fitted, "y", 2)).containsExactly(1);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> categories(CategoryColumn.of("a").withMinCount(2)))
        .withMessageContaining("needs withUnknownAllowed");
  }

  @Test
  void rowsThatAreLeftOutAreReported() throws IOException {
    List<String> left = new ArrayList<>();
    CsvFile file =
        write("\ufeff# of 2026\r\n n ,c\r\n1,a\r\nx,b\r\n\r\n2\r\n, c\r\n4,NA\r\n5, d \r\n")
            .withComments('#')
            .withMissingWords("NA")
            .withSkippedRows(wrong -> left.add(wrong.place() + " " + wrong.text()));
    TableRows rows =
        file.read(
            TableColumns.of(
                TableTensor.number("n", NumberColumn.of("n")),
                TableTensor.categories("y", CategoryColumn.of("c"))));
    assertThat(left).containsExactly("line 4 x", "line 6 2", "line 7 ", "line 8 NA");
    assertThat(floats(rows, rows.fit(), "n")).containsExactly(1, 5);
    assertThat(rows.fit().categories("y")).containsExactly("a", "d");
  }

  @Test
  void labelsDoNotCountCategoriesOfRowsThatAreLeftOut() throws IOException {
    TableRows rows =
        write("c,n\na,1\nb,x\nc,2\n,3\n")
            .withSkippedRows(wrong -> {})
            .read(
                TableColumns.of(
                    TableTensor.categories("y", CategoryColumn.of("c").withMissingCategory()),
                    TableTensor.number("n", NumberColumn.of("n"))));
    assertThat(rows.labels("y")).containsExactly(0, 1, 2);
  }

  @Test
  void columnsOfNumbersAlsoLeaveRowsOut() throws IOException {
    List<FieldException> left = new ArrayList<>();
    CsvFile file = write("n\n1\nx\n3\n").withSkippedRows(left::add);
    CsvFile.CsvColumn column = CsvFile.CsvColumn.of(DType.INT64, "n");
    try (TensorDataset data = file.load(column);
        DataLoader loader = DataLoader.over(data).batchSize(4).build();
        Batches batches = loader.epoch(0)) {
      assertThat(Rows.longs(batches.next().tensor("n"))).containsExactly(1, 3);
    }
    assertThat(left).hasSize(1);
  }

  @Test
  void anEmptyTableHasTensorsOfNoRows() throws IOException {
    FittedColumns fitted = write(ROWS).read(COLUMNS).fit();
    TableRows rows = write("colour,size,class,other").read(COLUMNS);
    assertThat(rows.size()).isZero();
    try (TensorDataset data = rows.dataset(fitted)) {
      assertThat(data.size()).isZero();
      assertThat(data.columns().toString()).isEqualTo("[x: float32 [5], y: int64 []]");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(rows::fit)
        .withMessageContaining("none of 0 rows");
  }

  @Test
  void aColumnWithoutValuesHasNoMean() throws IOException {
    TableRows rows = write("n,m\n,1\n,2\n").read(numbers(NumberColumn.of("n").withMissingMean()));
    assertThatIllegalArgumentException()
        .isThrownBy(rows::fit)
        .withMessageContaining("column n must have a value in a training row for its mean");
    TableRows zeros =
        write("n,m\n,1\n,2\n")
            .read(numbers(NumberColumn.of("n").withMissingValue(3).withStandardization()));
    assertThat(floats(zeros, zeros.fit(), "x")).containsExactly(0, 0);
  }

  @Test
  void hugeNumbersAreStandardizedOrRefused() throws IOException {
    CsvFile file = write("n\n1e308\n-1e308\n1e308\n");
    TableRows plain = file.read(numbers(NumberColumn.of("n")));
    assertThatExceptionOfType(TableValueException.class)
        .isThrownBy(() -> plain.dataset(plain.fit()))
        .withMessageContaining("line 2, column n: a number must be at most 3.4028235e38");
    TableRows standard = file.read(numbers(NumberColumn.of("n").withStandardization()));
    assertThatIllegalArgumentException()
        .isThrownBy(standard::fit)
        .withMessageContaining("must be below 1e154");
    TableRows large = write("n\n1e150\n-1e150\n").read(standard.columns());
    assertThat(floats(large, large.fit(), "x")).containsExactly(1, -1);
    TableRows mean =
        write("n\n1e308\n1e308\n").read(numbers(NumberColumn.of("n").withMissingMean()));
    assertThat(mean.fit().toJson()).contains("\"fill\":1.0E308");
  }

  @Test
  void datesHaveOnePattern() throws IOException {
    NumberColumn dates = NumberColumn.ofDates("d").withDatePattern("dd.MM.yyyy");
    TableRows rows = write("d\n02.01.1970\n29.02.2024\n").read(numbers(dates));
    assertThat(floats(rows, rows.fit(), "x")).containsExactly(1, 19782);
    CsvFile wrong = write("d\n31.02.2024\n");
    assertThatExceptionOfType(FieldException.class)
        .isThrownBy(() -> wrong.read(numbers(dates)))
        .withMessageContaining("line 2, column d: a date must be like dd.MM.yyyy");
    TableRows times =
        write("d\n1970-01-02T12:00\n1970-01-02 12:00:00+12:00\n1970-01-01T00:00:00.5Z\n")
            .read(numbers(NumberColumn.ofDates("d")));
    assertThat(floats(times, times.fit(), "x")).containsExactly(1.5f, 1, (float) (0.5 / 86400));
  }

  @Test
  void requestsAreEncodedWithoutTheLabel() throws IOException {
    FittedColumns model = write(ROWS).read(COLUMNS).fit(0, 2).only("x");
    assertThat(model.columns().names()).containsExactly("size", "colour");
    List<Map<String, ?>> requests =
        List.of(Map.of("size", 4, "colour", "red"), Map.of("colour", "violet", "z", 1));
    assertThat(floats(TableRows.of(model.columns(), requests), model, "x"))
        .containsExactly(2, 0, 1, 0, 1, 0); // two training rows, of sizes 1 and 3, both red
    assertThatExceptionOfType(TableValueException.class)
        .isThrownBy(() -> TableRows.of(model.columns(), List.of(Map.of("size", 4))))
        .withMessageContaining("row 0, column colour: a value must not be missing");
  }

  @Test
  void theSameColumnsContinueATraining() throws IOException {
    TableRows rows = write(ROWS).read(COLUMNS);
    FittedColumns fitted = rows.fit(0, 1, 2);
    try (Checkpoints checkpoints = Checkpoints.open(folder.resolve("checkpoints"))) {
      checkpoints.save(1, TrainingState.builder().part("columns", fitted).build());
      checkpoints.load(TrainingState.builder().part("columns", rows.fit(2, 1, 0)).build());
      SavedColumns saved = SavedColumns.empty();
      assertThatIllegalStateException().isThrownBy(saved::get);
      checkpoints.load(TrainingState.builder().part("columns", saved).build());
      assertThat(saved.get()).isEqualTo(fitted);
    }
    try (StateDict state = fitted.stateDict()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> rows.fit(0, 1).loadStateDict(state))
          .withMessageContaining("\"mean\":2.0")
          .withMessageContaining("\"mean\":1.0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> rows.fit(0, 1).only("y").loadStateDict(state))
          .withMessageContaining("description");
    }
  }

  @Test
  void whatWasLearnedIsSerializable() throws IOException, ClassNotFoundException {
    FittedColumns fitted = write(ROWS).read(COLUMNS).fit();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(fitted);
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      assertThat(in.readObject()).isEqualTo(fitted);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"version\":1|\"version\":2",
        "\"deviation\":|\"deviations\":",
        "\"column\":\"size\"|\"column\":\"other\"",
        "\"categories\":[\"blue\"|\"categories\":[\"red\"",
        "\"categories\":[\"blue\"|\"categories\":[7",
        "\"mean\":2.0|\"mean\":1e999",
        "\"deviation\":0|\"deviation\":-0",
        "\"kind\":\"number\"|\"kind\":\"text\"",
        "\"form\":\"FEATURES\"|\"form\":\"CATEGORIES\"",
        "[\"no\",\"yes\"]}]}|[\"yes\",\"no\"]}]}",
        "]}]}|]}",
        "\"minCount\":1|\"minCount\":0",
        "\"missing\":\"MEAN\"|\"missing\":\"MODE\"",
        "{\"version\"|[\"version\""
      })
  void damagedJsonIsRefused(String change) throws IOException {
    String[] words = change.split("\\|", -1);
    String json = write(ROWS).read(COLUMNS).fit(0, 1, 2).toJson();
    assertThat(json).contains(words[0]);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FittedColumns.fromJson(json.replace(words[0], words[1])));
  }

  @Test
  void rowsOfOtherColumnsAreRefused() throws IOException {
    TableRows rows = write(ROWS).read(COLUMNS);
    FittedColumns fitted = rows.fit().only("x");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> rows.dataset(fitted))
        .withMessageContaining("read them for its columns()");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> fitted.width("z"))
        .withMessageContaining("there must be a tensor z, got [x]");
  }
}
