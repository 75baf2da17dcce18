// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;

/** The sums over an epoch, which prove that a loader returned the rows. */
final class Sums implements BatchSink {
  private long labels;
  private double data;

  @Override
  public void take(Tensor values, @Nullable Tensor classes) {
    ScalarType wide = values.is_floating_point() ? ScalarType.Double : ScalarType.Long;
    try (Tensor sum = values.sum(new ScalarTypeOptional(wide));
        Scalar value = sum.item()) {
      data += wide == ScalarType.Double ? value.toDouble() : value.toLong();
    }
    if (classes != null) {
      try (Tensor sum = classes.sum();
          Scalar value = sum.item()) {
        labels += value.toLong();
      }
    }
  }

  /** Adds a sum of elements that are not in tensors. */
  void add(long sum) {
    data += sum;
  }

  long labels() {
    return labels;
  }

  double data() {
    return data;
  }
}
