// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.data.source.CsvFile;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the messages after mistakes with a table. */
@ExtendWith(LeakCheck.class)
class TableMessagesTest {
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

  @Test
  void anUnknownCategoryIsNamedWithItsLine() throws IOException {
    Path first = Files.writeString(folder.resolve("a.csv"), "c,n\nred,1\n");
    Path second = Files.writeString(folder.resolve("b.csv"), "n,c\n1,red\n\n2,\"green\"\n");
    TableRows rows =
        CsvFile.of(first, second)
            .read(TableColumns.of(TableTensor.features("x", CategoryColumn.of("c"))));
    FittedColumns fitted = rows.fit(0, 1);
    assertThatExceptionOfType(TableValueException.class)
        .isThrownBy(() -> rows.dataset(fitted))
        .withMessageContaining("b.csv, line 4, column c: ")
        .withMessageContaining("(red)")
        .withMessageContaining("withUnknownAllowed, got green");
  }

  @Test
  void labelsAndPlacesNameTheLine() throws IOException {
    TableRows rows =
        write("y\nno\n\nyes\n")
            .read(TableColumns.of(TableTensor.categories("y", CategoryColumn.of("y"))));
    FittedColumns fitted = rows.fit(0);
    assertThatExceptionOfType(TableValueException.class)
        .isThrownBy(() -> rows.labels(fitted, "y", 0, 1))
        .withMessageContaining("data.csv, line 4, column y: ")
        .withMessageContaining("name all categories by withCategories");
    assertThat(rows.place(1)).endsWith("data.csv, line 4");
    assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> rows.place(2));
    TableRows given = write(ROWS.replace("yes", "Yes")).read(COLUMNS);
    assertThatExceptionOfType(TableValueException.class)
        .isThrownBy(() -> given.dataset(given.fit()))
        .withMessageContaining("must be one of withCategories (no, yes)");
  }

  @Test
  void noTrainingRowsAreRefused() throws IOException {
    TableRows rows = write(ROWS).read(COLUMNS);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> rows.fit(new long[0]))
        .withMessage("at least one training row is needed, got none of 4 rows");
    TableRows none = write("size,colour,class\n").read(COLUMNS);
    assertThatIllegalArgumentException()
        .isThrownBy(none::fit)
        .withMessage("at least one training row is needed, got none of 0 rows");
  }

  @Test
  void otherDescriptionsAreComparedWhereTheyDiffer() throws IOException {
    StateDict saved = write(ROWS).read(COLUMNS).fit().stateDict();
    TableColumns others =
        TableColumns.of(
            TableTensor.features(
                "x",
                NumberColumn.of("size").withMissingMean().withMissingMask(),
                CategoryColumn.of("colour").withUnknownAllowed()),
            TableTensor.categories("y", CategoryColumn.of("class").withCategories("no", "yes")));
    FittedColumns fitted = write(ROWS).read(others).fit();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> fitted.loadStateDict(saved))
        .withMessageMatching(
            ".* must be the saved one, which has ….*\"standardized\":true.*…, got"
                + " ….*\"standardized\":false.*…; describe them as before, .*");
  }

  @Test
  void jsonThatIsCutIsNamedWithoutSettingsOfTheParser() throws IOException {
    String json = write(ROWS).read(COLUMNS).fit().toJson();
    for (int left = 1; left < json.length(); left++) {
      String cut = json.substring(0, left);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FittedColumns.fromJson(cut))
          .withMessageStartingWith("the text is not a fitted table in JSON: ")
          .withMessageContaining(" at character ")
          .satisfies(e -> assertThat(e.getMessage()).doesNotContain("Source", "REDACTED"));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'n\n1\n\"\"\n', 'line 3, column n: a value must not be missing'",
    "'n\n1\nnan\n', 'line 3, column n: a value must not be missing'",
    "'n\n1\n1e400\n', 'line 3, column n: a number must be decimal and of at most 1.797'",
    "'n\n1\ninf\n', 'line 3, column n: a number must be finite'",
    "'n\n1\n1,2\n', 'line 3, record: must have 1 fields'",
    "'n\n1\nred\n', 'a number must be decimal; for a word in place of a missing value use CsvFile'",
    "'n\n1\n\"1,5\"\n', 'a number must be decimal; for a decimal comma use CsvFile.withDecimalComma'",
    "'n\n1\n28.11.2026\n', 'a number must be decimal; for dates use NumberColumn.ofDates'",
    "'n\n1\n7%\n', 'column n: a number must be decimal, got \"7%\"'",
    "'n;c\n1;a\n', 'got [n;c]; its fields may need separatedBy('';'')'",
    "'n\tc\n1\ta\n', 'its fields may need separatedBy(''\\t'')'",
    "'# made by hand\nn,c\n1,a\n', 'got [# made by hand]; its comments need withComments(''#'')'",
    "'n,n\n1,2\n', 'must have exactly one column \"n\", got [n, n]'",
    "'m\n1\n', 'must have exactly one column \"n\", got [m]'",
    "'', 'must have exactly one column \"n\", got []'",
    "'n\n\"1\n', 'is not CSV'"
  })
  void oddFilesAreRefused(String text, String message) throws IOException {
    CsvFile file = write(text);
    assertThatExceptionOfType(RuntimeException.class)
        .isThrownBy(
            () -> file.read(TableColumns.of(TableTensor.features("x", NumberColumn.of("n")))))
        .withMessageContaining("data.csv")
        .withMessageContaining(message);
  }
}
