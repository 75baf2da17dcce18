// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** The contract of the loader, with the native engine. */
class NativeLoaderTest extends LoaderContract {
  NativeLoaderTest() {
    super(RowData::tensors);
  }
}
