// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** What a batch costs the Java heap, with the native engine. */
class NativeLoaderAllocationTest extends LoaderAllocationContract {
  NativeLoaderAllocationTest() {
    super(RowData::tensors);
  }
}
