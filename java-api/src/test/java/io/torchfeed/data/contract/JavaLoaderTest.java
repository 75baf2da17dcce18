// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;

/** Tests of the loader's contract, with the Java engine. */
class JavaLoaderTest extends LoaderContract {
  JavaLoaderTest() {
    super(RowData::samples);
  }
}
