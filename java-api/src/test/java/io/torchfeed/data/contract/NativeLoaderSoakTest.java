// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;

/** Soak tests of the loader, with the native engine. */
class NativeLoaderSoakTest extends LoaderSoakContract {
  NativeLoaderSoakTest() {
    super(RowData::tensors);
  }
}
