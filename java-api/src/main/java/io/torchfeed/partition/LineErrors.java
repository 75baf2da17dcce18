// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.List;

/**
 * The lines that one rank left out.
 *
 * @param count how many there were
 * @param listed the first of them, with {@link ErrorPolicy#COLLECT} up to 10,000, otherwise none
 */
public record LineErrors(long count, List<LineError> listed) {
  /**
   * Errors.
   *
   * @param count how many lines were left out
   * @param listed the first of them
   */
  public LineErrors {
    listed = List.copyOf(listed);
  }
}
