// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;

/** Tests of the statistics of a loader, with the Java engine. */
class JavaLoaderStatsTest extends LoaderStatsContract {
  JavaLoaderStatsTest() {
    super(RowData::samples);
  }
}
