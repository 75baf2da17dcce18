// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

/**
 * Thrown when the ranks of a generation no longer train together, because one was lost, came or
 * left. No fault of the program: it gets the {@linkplain Membership#next next generation} and
 * continues after the last step that it has completed.
 */
public final class WorldChangedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  WorldChangedException(String reason) {
    super(reason);
  }
}
