// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;

/** Tests of batches, with the Java engine. */
class JavaBatchTest extends BatchContract {
  JavaBatchTest() {
    super(RowData::samples);
  }
}
