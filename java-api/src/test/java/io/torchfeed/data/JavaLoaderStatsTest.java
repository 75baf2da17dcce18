// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** What a loader says of itself, with the Java engine. */
class JavaLoaderStatsTest extends LoaderStatsContract {
  JavaLoaderStatsTest() {
    super(RowData::samples);
  }
}
