// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

class TensorDatasetTest {
  @Test
  void aDatasetReportsItsColumns() {
    Tensor labels = torch.zeros(5).to(torch.ScalarType.Long);
    try (TensorDataset data = TensorDataset.of(torch.zeros(5, 2, 3), labels)) {
      assertThat(data.size()).isEqualTo(5);
      assertThat(data.columns())
          .containsExactly(RowSpec.of(DType.FLOAT32, 2, 3), RowSpec.of(DType.INT64));
    }
  }

  @Test
  void aNonContiguousColumnIsReadCorrectly() {
    Tensor across = torch.arange(new Scalar(6)).view(2, 3).t();
    try (TensorDataset data = TensorDataset.of(across);
        DataLoader loader = DataLoader.over(data).batchSize(3).workers(0).build();
        Batches batches = loader.epoch(0)) {
      assertThat(torch.equal(batches.next().tensor(0), across)).isTrue();
    }
  }

  @Test
  void aLazilyNegatedColumnIsReadCorrectly() {
    Tensor complex = torch.view_as_complex(torch.ones(4, 2));
    Tensor negated = torch.imag(complex.conj()); // minus one, recorded only in a bit
    assertThat(negated.is_neg()).isTrue();
    try (TensorDataset data = TensorDataset.of(negated, complex.conj());
        DataLoader loader = DataLoader.over(data).batchSize(4).workers(0).build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      assertThat(torch.equal(batch.tensor(0), torch.full(new long[] {4}, new Scalar(-1f))))
          .isTrue();
      assertThat(torch.equal(torch.imag(batch.tensor(1)), negated)).isTrue();
    }
  }

  @Test
  void theTensorsMayBeClosedByTheirOwner() {
    Tensor column = torch.arange(new Scalar(4));
    try (TensorDataset data = TensorDataset.of(column)) {
      column.close();
      try (DataLoader loader = DataLoader.over(data).batchSize(4).build();
          Batches batches = loader.epoch(0)) {
        assertThat(Rows.longs(batches.next().tensor(0))).containsExactly(0, 1, 2, 3);
      }
    }
  }

  @Test
  void tensorsThatCannotBeColumnsAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(TensorDataset::of)
        .withMessage("a TensorDataset needs at least one column");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TensorDataset.of(torch.zeros(5), torch.zeros(6)))
        .withMessage("column 1 must have as many rows as column 0 (5), got 6");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TensorDataset.of(new Tensor()))
        .withMessage("column 0 must be a dense CPU tensor with rows, got an undefined tensor");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TensorDataset.of(torch.zeros(5).to_sparse()))
        .withMessage(
            "column 0 must be a dense CPU tensor with rows, got a sparse or quantized tensor");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TensorDataset.of(torch.scalar_tensor(new Scalar(1))))
        .withMessage(
            "column 0 must be a dense CPU tensor with rows, got a tensor without dimensions");
    Tensor bits = torch.zeros(5).to(torch.ScalarType.Byte).view(torch.ScalarType.Bits8);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TensorDataset.of(bits))
        .withMessageEndingWith("got Bits8");
  }
}
