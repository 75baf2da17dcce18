// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** The loader for a long time, with the native engine. */
class NativeLoaderSoakTest extends LoaderSoakContract {
  NativeLoaderSoakTest() {
    super(RowData::tensors);
  }
}
