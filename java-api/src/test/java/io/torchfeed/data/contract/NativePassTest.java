// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;

/** Tests of passes, with the native engine. */
class NativePassTest extends PassContract {
  NativePassTest() {
    super(RowData::tensors);
  }
}
