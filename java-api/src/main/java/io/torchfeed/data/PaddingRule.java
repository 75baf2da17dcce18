// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** Says of an element of a batch's index list whether it only fills up. */
interface PaddingRule {
  boolean isPadding(long batch, int element);
}
