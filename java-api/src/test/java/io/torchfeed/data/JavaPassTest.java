// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** Tests of passes, with the Java engine. */
class JavaPassTest extends PassContract {
  JavaPassTest() {
    super(RowData::samples);
  }
}
