// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** What a loader says of itself, with the native engine. */
class NativeLoaderStatsTest extends LoaderStatsContract {
  NativeLoaderStatsTest() {
    super(RowData::tensors);
  }
}
