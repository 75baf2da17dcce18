// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import io.torchfeed.data.RowData;
import org.junit.jupiter.api.Nested;

/** Tests of the loader's contract over subsets and concatenations, with the native engine. */
class SelectionLoaderTest {
  @Nested
  class Loader extends LoaderContract {
    Loader() {
      super(RowData::selection);
    }
  }

  @Nested
  class ABatch extends BatchContract {
    ABatch() {
      super(RowData::selection);
    }
  }
}
