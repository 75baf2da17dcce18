// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.CsvRecord;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.CsvFile;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares with golden/python_tables.py: pandas and scikit-learn. */
class TableGoldenTest {
  private static final int TRAINING = 60;

  /** Sums that scikit-learn rounds leave such a rest of a mean in place of 0. */
  private static final double REST = 1e-12;

  private static final NumberColumn GAPS = NumberColumn.of("age", "income");
  private static final CategoryColumn CLASS = CategoryColumn.of("class");
  private static final NumberColumn DATES = NumberColumn.ofDates("joined", "seen");

  private static Path golden(String name) {
    try {
      return Path.of(
          requireNonNull(TableGoldenTest.class.getResource("/golden/tables/" + name)).toURI());
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }

  private static List<String> expected(String name) throws IOException {
    return Files.readAllLines(golden("expected.txt")).stream()
        .filter(line -> line.startsWith(name + " "))
        .map(line -> List.of(line.split(" ", -1)))
        .findFirst()
        .orElseThrow();
  }

  private static double[] actual(CsvFile file, TableTensor tensor) {
    TableRows rows = file.read(TableColumns.of(tensor));
    FittedColumns fitted = rows.fit(LongStream.range(0, TRAINING).toArray());
    FittedColumns read = FittedColumns.fromJson(fitted.toJson());
    assertThat(read).isEqualTo(fitted);
    try (TensorDataset data = rows.dataset(read);
        DataLoader loader = DataLoader.over(data).batchSize(rows.size()).build();
        Batches batches = loader.epoch(0);
        Tensor all = batches.next().tensor(tensor.name()).to(ScalarType.Double)) {
      double[] values = new double[Math.toIntExact(all.numel())];
      all.data_ptr_double().get(values);
      return values;
    }
  }

  private static void assertEqual(String name, double... actual) throws IOException {
    List<String> words = expected(name);
    double[] wanted = words.stream().skip(2).mapToDouble(Float::parseFloat).toArray();
    assertThat(actual).hasSameSizeAs(wanted);
    for (int i = 0; i < wanted.length; i++) {
      if (Math.abs(wanted[i]) > REST || Math.abs(actual[i]) > REST) {
        assertThat(actual[i]).as("element %d of %s", i, name).isEqualTo(wanted[i]);
      }
    }
  }

  private static List<List<String>> table() throws IOException {
    try (CsvReader<CsvRecord> records = CsvReader.builder().ofCsvRecord(golden("people.csv"))) {
      return records.stream().map(CsvRecord::getFields).toList();
    }
  }

  /** Returns a field as a number, a text, or null if it is empty. */
  private static @Nullable Object value(String field) {
    if (field.isEmpty()) {
      return null;
    }
    try {
      return field.contains(".") ? (Object) Double.valueOf(field) : (Object) Long.valueOf(field);
    } catch (NumberFormatException e) {
      return field;
    }
  }

  static Stream<Arguments> european() {
    return tensors()
        .filter(each -> List.of("mean", "masked", "zeros", "label").contains(each.get()[0]));
  }

  static Stream<Arguments> tensors() {
    NumberColumn standard = GAPS.withMissingMean().withStandardization();
    return Stream.of(
        Arguments.of("mean", TableTensor.features("x", GAPS.withMissingMean())),
        Arguments.of(
            "masked", TableTensor.features("x", GAPS.withMissingValue(-1).withMissingMask())),
        Arguments.of(
            "standard",
            TableTensor.features(
                "x", standard, NumberColumn.of("clock", "constant", "tiny").withStandardization())),
        Arguments.of(
            "zeros", TableTensor.features("x", GAPS.withMissingValue(0).withStandardization())),
        Arguments.of(
            "colour",
            TableTensor.features(
                "x", CategoryColumn.of("colour").withMissingCategory().withUnknownAllowed())),
        Arguments.of(
            "shop",
            TableTensor.categories("x", CategoryColumn.ofNumbers("shop").withUnknownAllowed())),
        Arguments.of("label", TableTensor.categories("x", CLASS)),
        Arguments.of("days", TableTensor.features("x", DATES)),
        Arguments.of("days-standard", TableTensor.features("x", DATES.withStandardization())));
  }

  @ParameterizedTest
  @MethodSource("tensors")
  void tensorsAreThoseOfScikitLearn(String name, TableTensor tensor) throws IOException {
    assertEqual(name, actual(CsvFile.of(golden("people.csv")), tensor));
  }

  @ParameterizedTest
  @MethodSource("tensors")
  void rowsOneByOneGiveTheSame(String name, TableTensor tensor) throws IOException {
    TableColumns columns = TableColumns.of(tensor);
    List<List<String>> table = table();
    List<String> header = table.get(0);
    int[] places = columns.names().stream().mapToInt(header::indexOf).toArray();
    TableLearner[] learners = {TableLearner.of(columns), TableLearner.of(columns)};
    @Nullable Object[][] rows = new Object[table.size() - 1][];
    for (int row = 0; row < rows.length; row++) {
      List<String> fields = table.get(row + 1);
      rows[row] = Arrays.stream(places).mapToObj(i -> value(fields.get(i))).toArray();
      if (row < TRAINING) {
        learners[row % 2].add(rows[row]);
      }
    }
    learners[0].merge(learners[1]);
    TensorEncoder encoder = learners[0].fit().encoder("x");
    int width = (int) encoder.row().elements();
    double[] actual = new double[rows.length * width];
    float[] floats = new float[width];
    long[] longs = new long[width];
    for (int row = 0; row < rows.length; row++) {
      if (name.equals("shop") || name.equals("label")) {
        encoder.encode(rows[row], longs);
      } else {
        encoder.encode(rows[row], floats);
      }
      for (int i = 0; i < width; i++) {
        actual[row * width + i] = floats[i] + longs[i];
      }
    }
    assertEqual(name, actual);
  }

  @ParameterizedTest
  @MethodSource("european")
  void aEuropeanFileGivesTheSame(String name, TableTensor tensor) throws IOException {
    CsvFile file =
        CsvFile.of(golden("european.csv.gz"))
            .separatedBy(';')
            .withDecimalComma()
            .withComments('#')
            .withMissingWords("NA");
    assertEqual(name, actual(file, tensor));
  }
}
