// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;

/** Tests of the Java heap allocated per batch, with the Java engine. */
class JavaLoaderAllocationTest extends LoaderAllocationContract {
  JavaLoaderAllocationTest() {
    super(RowData::samples);
  }
}
