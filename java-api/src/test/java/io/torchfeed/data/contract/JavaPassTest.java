// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;

/** Tests of passes, with the Java engine. */
class JavaPassTest extends PassContract {
  JavaPassTest() {
    super(RowData::samples);
  }
}
