// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** The loader for a long time, with the Java engine. */
class JavaLoaderSoakTest extends LoaderSoakContract {
  JavaLoaderSoakTest() {
    super(RowData::samples);
  }
}
