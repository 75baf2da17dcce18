// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;

/** Soak tests of the loader, with the Java engine. */
class JavaLoaderSoakTest extends LoaderSoakContract {
  JavaLoaderSoakTest() {
    super(RowData::samples);
  }
}
