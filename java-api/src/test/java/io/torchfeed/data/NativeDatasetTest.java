// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.data.source.RowLayout;
import io.torchfeed.memory.DType;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of subsets and concatenations of native datasets. */
class NativeDatasetTest {
  private static List<Long> labels(NativeDataset dataset) {
    return longs(dataset, 1);
  }

  private static List<Long> longs(NativeDataset dataset, int column) {
    List<Long> labels = new ArrayList<>();
    try (DataLoader loader = DataLoader.over(dataset).batchSize(3).build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        for (long label : Rows.longs(batch.tensor(column))) {
          labels.add(label);
        }
      }
    }
    return labels;
  }

  @Test
  void subsetsAndConcatenationsReadTheRightRows() {
    try (NativeDataset rows = Rows.dataset(10);
        NativeDataset empty = Rows.dataset(0);
        NativeDataset three = rows.subset(7, 7, 2);
        NativeDataset two = rows.subset(4, 5);
        NativeDataset none = rows.subset();
        NativeDataset all = NativeDataset.concat(List.of(empty, two, none, rows, empty));
        NativeDataset some = all.subset(11, 0, 2)) {
      assertThat(labels(three)).containsExactly(7L, 7L, 2L);
      assertThat(labels(all)).containsExactly(4L, 5L, 0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L);
      assertThat(labels(some)).containsExactly(9L, 4L, 0L);
      assertThat(labels(none)).isEmpty();
      assertThat(all.size()).isEqualTo(12);
    }
  }

  @Test
  void tensorsAndFilesMayBeConcatenated(@TempDir Path folder) {
    Tensor numbers = Tensor.create(new long[] {0, 1, 2, 3}, 4);
    Path file = RowFiles.write(folder.resolve("rows"), RowFiles.bytesOf(numbers));
    try (FileDataset files = FileDataset.of(FileColumn.raw(RowLayout.of(DType.INT64), file));
        TensorDataset tensors = TensorDataset.of(numbers);
        NativeDataset last = files.subset(3, 2);
        NativeDataset both = NativeDataset.concat(List.of(last, tensors, files))) {
      assertThat(longs(both, 0)).containsExactly(3L, 2L, 0L, 1L, 2L, 3L, 0L, 1L, 2L, 3L);
    }
  }

  @Test
  void aSelectionOutlivesWhatItIsMadeOf() {
    NativeDataset rows = Rows.dataset(5);
    NativeDataset some = rows.subset(4, 0);
    rows.close();
    NativeDataset both = NativeDataset.concat(List.of(some, some));
    some.close();
    assertThat(labels(both)).containsExactly(4L, 0L, 4L, 0L);
    both.close();
    both.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> rows.subset(0))
        .withMessage("TensorDataset is closed");
    assertThatIllegalStateException()
        .isThrownBy(() -> both.subset(0))
        .withMessage("NativeDataset is closed");
    try (NativeDataset open = Rows.dataset(2)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> NativeDataset.concat(List.of(open, both)))
          .withMessage("NativeDataset is closed");
    }
    assertThat(both.size()).isEqualTo(4); // known without the rows
  }

  @Test
  void whatDoesNotFitIsRefused() {
    try (NativeDataset rows = Rows.dataset(3);
        NativeDataset others = TensorDataset.of(torch.zeros(2, 3), torch.zeros(2))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> rows.subset(0, 3))
          .withMessage("indices must be in [0, 3), got 3");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> rows.subset(-1))
          .withMessage("indices must be in [0, 3), got -1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> NativeDataset.concat(List.of()))
          .withMessage("at least one dataset is needed, got none");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> NativeDataset.concat(List.of(rows, rows, others)))
          .withMessage(
              "all datasets must have the columns of the first, [float32 [3], int64 []], got"
                  + " [float32 [3], float32 []] in number 2");
    }
  }

  @Test
  void manyPartsAreInOrderAndTooManyAreRefused() {
    try (Tensor numbers = Tensor.create(new long[] {0, 1, 2, 3, 4, 5, 6}, 7);
        TensorDataset rows = TensorDataset.of(numbers)) {
      List<NativeDataset> parts = new ArrayList<>();
      for (int i = 0; i < 7; i++) {
        parts.add(rows.subset(i));
      }
      try (NativeDataset all = NativeDataset.concat(parts);
          DataLoader loader = DataLoader.over(all).batchSize(7).build();
          Batches batches = loader.epoch(0)) {
        assertThat(Rows.longs(batches.next().tensor(0)))
            .containsExactly(0L, 1L, 2L, 3L, 4L, 5L, 6L);
        batches.close();
        NativeDataset[] million = new NativeDataset[(1 << 20) / 7 + 1];
        Arrays.fill(million, all);
        assertThatIllegalArgumentException()
            .isThrownBy(() -> NativeDataset.concat(Arrays.asList(million)))
            .withMessageContaining("must have at most 1048576 datasets");
      }
      parts.forEach(NativeDataset::close);
    }
  }

  @Test
  @SuppressWarnings("NullAway") // a caller without null checks can pass null
  void nullArgumentsAreNamed() {
    try (Tensor numbers = Tensor.create(new long[] {0, 1}, 2);
        TensorDataset rows = TensorDataset.of(numbers)) {
      assertThatNullPointerException()
          .isThrownBy(() -> NativeDataset.concat(null))
          .withMessage("parts");
      assertThatNullPointerException()
          .isThrownBy(() -> rows.subset((long[]) null))
          .withMessage("indices");
      assertThatNullPointerException()
          .isThrownBy(() -> rows.transform(0, null))
          .withMessage("transform");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void anUnreadableRowIsReportedAsTheLoaderNumbersIt(int workers, @TempDir Path folder)
      throws Exception {
    Tensor numbers = Tensor.create(new long[] {0, 1, 2, 3}, 4);
    Path file = RowFiles.write(folder.resolve("rows"), RowFiles.bytesOf(numbers));
    try (FileDataset files = FileDataset.of(FileColumn.raw(RowLayout.of(DType.INT64), file));
        NativeDataset some = files.subset(1, 3, 0);
        NativeDataset both = NativeDataset.concat(List.of(some, some));
        DataLoader loader = DataLoader.over(both).batchSize(2).workers(workers).build()) {
      RowFiles.truncate(file, 3 * Long.BYTES);
      List<Object> seen = new ArrayList<>();
      try (Batches batches = loader.epoch(0)) {
        while (batches.hasNext()) {
          try {
            seen.add(Rows.longs(batches.next().tensor(0)));
          } catch (SampleException e) {
            seen.add(e.index());
            assertThat(e).hasMessageContaining(file + ": row 3, bytes 24 to 32, cannot be read");
          }
        }
      }
      assertThat(seen).containsExactly(1L, new long[] {0, 1}, 4L);
    }
  }
}
