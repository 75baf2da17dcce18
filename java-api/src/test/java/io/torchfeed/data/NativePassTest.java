// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** Tests of passes, with the native engine. */
class NativePassTest extends PassContract {
  NativePassTest() {
    super(RowData::tensors);
  }
}
