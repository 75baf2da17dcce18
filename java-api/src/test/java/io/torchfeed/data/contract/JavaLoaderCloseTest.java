// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;

/** Tests of closing a loader, with the Java engine. */
class JavaLoaderCloseTest extends LoaderCloseContract {
  JavaLoaderCloseTest() {
    super(RowData::samples);
  }
}
