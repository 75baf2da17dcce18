// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

/** A cursor over one rank's part of an order that knows the longest part. */
public interface PartOfOrder {
  /** Returns whether other ranks have something left at the end of this cursor, if they differ. */
  boolean endsBeforeOthers();
}
