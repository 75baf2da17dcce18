// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** What a batch costs the Java heap, with the Java engine. */
class JavaLoaderAllocationTest extends LoaderAllocationContract {
  JavaLoaderAllocationTest() {
    super(RowData::samples);
  }
}
