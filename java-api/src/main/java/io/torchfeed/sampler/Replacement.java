// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** Whether an index that was drawn can be drawn again: PyTorch's {@code replacement}. */
public enum Replacement {
  /** Every draw is from the whole dataset. */
  WITH,
  /** An index that was drawn is out until the dataset is used up. */
  WITHOUT
}
