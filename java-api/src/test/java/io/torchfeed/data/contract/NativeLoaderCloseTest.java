// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
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
