// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;

/** Tests of the Java heap allocated per batch, with the native engine. */
class NativeLoaderAllocationTest extends LoaderAllocationContract {
  NativeLoaderAllocationTest() {
    super(RowData::tensors);
  }
}
