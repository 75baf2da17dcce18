// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;

/** Tests of batches, with the native engine. */
class NativeBatchTest extends BatchContract {
  NativeBatchTest() {
    super(RowData::tensors);
  }
}
