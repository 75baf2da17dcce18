// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import io.torchfeed.spark.RowColumn;
import java.util.List;

/** Models that no estimator has trained. */
public final class TestModels {
  private TestModels() {}

  public static TorchfeedModel of(TorchfeedNet<?> net, RowColumn column) {
    return new TorchfeedModel(
        "uid", new NetColumns(net, column, column, List.of(column)), new byte[0]);
  }
}
