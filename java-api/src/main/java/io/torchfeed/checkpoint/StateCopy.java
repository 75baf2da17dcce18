// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import java.util.LinkedHashMap;
import java.util.Map;

/** Tensors of a state at one moment. */
sealed interface StateCopy extends AutoCloseable {
  @Override
  void close();

  /** The states of all parts at one moment. */
  record Copy(Map<String, StateDict> parts) implements StateCopy {
    Copy() {
      this(new LinkedHashMap<>());
    }

    @Override
    public void close() {
      parts.values().forEach(StateDict::close);
    }
  }

  /**
   * The share of a rank in the states of all parts at one moment.
   *
   * @param fileNames the files of the parts
   * @param layout of all states
   */
  record Share(Copy copy, Map<String, String> fileNames, ShardLayout layout) implements StateCopy {
    @Override
    public void close() {
      copy.close();
    }
  }
}
