// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.VariableLength;
import io.torchfeed.data.source.CsvFile;
import io.torchfeed.data.source.CsvFile.CsvColumn;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.RowTransform;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of columns that are found by their names. */
@ExtendWith(LeakCheck.class)
class ColumnNamesTest {
  /** Samples of Java code: two columns, of which the second has a variable length. */
  private record Tokens(List<RowSpec> columns, List<VariableLength> variableLengths)
      implements Dataset {
    static Tokens of(VariableLength length, String... names) {
      return new Tokens(
          List.of(
              RowSpec.of(DType.INT64).withName(names[0]),
              RowSpec.of(DType.INT64, 3).withName(names[1])),
          List.of(length));
    }

    @Override
    public long size() {
      return 2;
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.putLong(0, index);
      sample.put(1, new long[(int) index + 1]);
    }
  }

  private static TensorDataset rows() {
    try (PointerScope scope = new PointerScope()) {
      return TensorDataset.of(
          Tensor.create(new float[] {1, 2, 3, 4}, 2, 2), Tensor.create(new long[] {5, 6}, 2));
    }
  }

  private static DataLoader loader(NativeDataset data) {
    return DataLoader.over(data).batchSize(2).build();
  }

  @Test
  void aTensorIsFoundByItsName() {
    try (NativeDataset data = rows().withNames("image", "label");
        DataLoader loader = loader(data);
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      assertThat(batch.tensor("image")).isSameAs(batch.tensor(0));
      assertThat(batch.tensor("label")).isSameAs(batch.tensor(1));
      assertThat(batch.tensor("label").data_ptr_long().get(1)).isEqualTo(6);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> batch.tensor("lable"))
          .withMessage("the column must be one of [image, label], got lable");
      try (Batch kept = batch.keep()) {
        assertThat(kept.tensor("label")).isSameAs(kept.tensor(1));
      }
    }
  }

  @Test
  void columnsWithoutNamesAreFoundByTheirNumbers() {
    try (NativeDataset data = rows();
        DataLoader loader = loader(data);
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      for (String name : List.of("label", "")) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> batch.tensor(name))
            .withMessageContaining("the columns have no names")
            .withMessageContaining("NativeDataset.withNames");
      }
    }
  }

  @Test
  void namesOfLengthsFollowThoseOfTheirColumns() {
    Map<VariableLength, String> forms =
        Map.of(
            VariableLength.padded(1), "tokens.lengths",
            VariableLength.masked(1), "tokens.mask",
            VariableLength.packed(1), "tokens.offsets");
    forms.forEach(
        (length, name) -> {
          try (DataLoader loader =
                  DataLoader.over(Tokens.of(length, "", "tokens")).batchSize(2).build();
              Batches batches = loader.epoch(0)) {
            Batch batch = batches.next();
            assertThat(batch.tensor("tokens")).isSameAs(batch.tensor(1));
            assertThat(batch.tensor(name)).isSameAs(batch.tensor(2));
            assertThatIllegalArgumentException()
                .isThrownBy(() -> batch.tensor("text"))
                .withMessage("the column must be one of [tokens, %s], got text", name);
          }
        });
  }

  @Test
  void aNameIsThatOfAPlaceAfterAStep() {
    try (NativeDataset data = rows().withNames("image", "label");
        DataLoader loader =
            DataLoader.over(data)
                .batchSize(2)
                .transform((all, random) -> new Tensor[] {all[1], all[0]})
                .afterTransfer((batch, seed) -> new Tensor[] {batch.tensor("label")})
                .build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      assertThat(batch.tensor("image").dim()).isEqualTo(2);
      assertThat(catchThrowable(() -> batch.tensor("label")))
          .isInstanceOf(IndexOutOfBoundsException.class);
    }
  }

  @Test
  void namesAreUniqueAndAsManyAsColumns() {
    try (NativeDataset data = rows()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.withNames("a", "a"))
          .withMessage("the names of columns must differ, got a for columns 0 and 1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> data.withNames("a"))
          .withMessage("a name is needed for each of the columns [float32 [2], int64 []], got [a]");
      assertThat(data.withNames("", "").columns()).isEqualTo(data.columns());
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DataLoader.over(Tokens.of(VariableLength.padded(1), "a", "a")).build())
        .withMessage("the names of columns must differ, got a for columns 0 and 1");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> DataLoader.over(Tokens.of(VariableLength.padded(1), "a.lengths", "a")).build())
        .withMessage("the names of columns must differ, got a.lengths for columns 0 and 2");
  }

  @Test
  void selectionsKeepNames() {
    List<RowSpec> named =
        List.of(RowSpec.of("image", DType.FLOAT32, 2), RowSpec.of("label", DType.INT64));
    try (NativeDataset data = rows().withNames("image", "label");
        NativeDataset unnamed = rows();
        NativeDataset other = rows().withNames("image", "target");
        NativeDataset subset = data.subset(1, 0, 1);
        NativeDataset halves =
            data.transform(0, RowTransform.builder().cast(DType.FLOAT16).build());
        NativeDataset after = NativeDataset.concat(List.of(unnamed, data));
        NativeDataset before = NativeDataset.concat(List.of(data, unnamed))) {
      assertThat(List.of(data, subset, after, before))
          .allSatisfy(each -> assertThat(each.columns()).isEqualTo(named));
      assertThat(halves.columns().get(0)).isEqualTo(RowSpec.of("image", DType.FLOAT16, 2));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> NativeDataset.concat(List.of(data, other)))
          .withMessageContaining("[image: float32 [2], target: int64 []] in number 1");
    }
    Tokens tokens = Tokens.of(VariableLength.padded(1), "id", "");
    Dataset all = Dataset.concat(List.of(tokens, Tokens.of(VariableLength.padded(1), "", "text")));
    assertThat(all.columns().stream().map(RowSpec::name)).containsExactly("id", "text");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                Dataset.concat(List.of(tokens, Tokens.of(VariableLength.padded(1), "number", ""))))
        .withMessageContaining("number: int64 []");
  }

  @Test
  void columnsOfCsvFilesHaveTheirNames(@TempDir Path folder) throws IOException {
    Path file = Files.writeString(folder.resolve("a.csv"), "x,y,label\n1,2,3\n4,5,6\n");
    try (NativeDataset data =
        CsvFile.of(file)
            .load(
                CsvColumn.of(DType.FLOAT32, "x", "y"),
                CsvColumn.of(DType.INT64, "label"),
                CsvColumn.of(DType.FLOAT32, "x"),
                CsvColumn.of(DType.FLOAT64, "x"))) {
      assertThat(data.columns().stream().map(RowSpec::name)).containsExactly("", "label", "", "");
    }
  }

  @Test
  void namesAreNoPartOfStates() {
    List<String> states = new ArrayList<>();
    for (String name : List.of("", "label")) {
      try (NativeDataset data = rows().withNames("", name);
          DataLoader loader =
              DataLoader.over(data)
                  .sampler(ShuffledSampler.of(data.size(), Part.whole(), 1))
                  .batchSize(1)
                  .build();
          Batches batches = loader.epoch(0)) {
        batches.next();
        states.add(batches.state().toJson());
      }
    }
    assertThat(states.get(1)).isEqualTo(states.get(0));
  }

  @Test
  void aDatasetWithNamesIsTheSameRows() {
    TensorDataset data = rows();
    NativeDataset named = data.withNames("image", "label");
    assertThat(named.size()).isEqualTo(2);
    data.close();
    assertThat(catchThrowable(() -> named.subset(0))).isInstanceOf(IllegalStateException.class);
    named.close();
  }
}
