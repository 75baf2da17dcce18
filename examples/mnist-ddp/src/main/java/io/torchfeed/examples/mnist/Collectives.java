// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** Small sums over all ranks. */
final class Collectives {
  private Collectives() {}

  /** Sums each value over the ranks; every rank must call this with the same number of values. */
  @SuppressWarnings("try") // a scope works by being open
  static double[] sum(ProcessGroup group, double... values) {
    try (PointerScope scope = new PointerScope()) {
      Tensor tensor = Tensor.create(values);
      group.allReduce(tensor, ReduceOp.SUM);
      double[] sums = new double[values.length];
      tensor.data_ptr_double().get(sums);
      return sums;
    }
  }
}
