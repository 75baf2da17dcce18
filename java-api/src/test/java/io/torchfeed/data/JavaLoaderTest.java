// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** The contract of the loader, with the Java engine. */
class JavaLoaderTest extends LoaderContract {
  JavaLoaderTest() {
    super(RowData::samples);
  }
}
