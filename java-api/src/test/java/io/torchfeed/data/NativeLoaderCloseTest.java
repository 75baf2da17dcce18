// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.junit.jupiter.api.Test;

/** Tests of closing a loader, with the native engine. */
class NativeLoaderCloseTest extends LoaderCloseContract {
  NativeLoaderCloseTest() {
    super(RowData::tensors);
  }

  @Test
  void aClosedDatasetIsReported() {
    TensorDataset dataset = Rows.dataset(3);
    dataset.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> DataLoader.over(dataset).build())
        .withMessage("TensorDataset is closed");
  }
}
