// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.List;

/**
 * What one rank reads.
 *
 * @param rank the rank, at least 0
 * @param ranges its parts of all files' bytes, in the order of reading
 * @param bytes how many bytes it reads, to within one line: those of its ranges, but compressed
 *     files as a whole with the rank that has their first byte
 * @param files how many files it reads from
 */
public record RankShare(int rank, List<ByteRange> ranges, long bytes, int files) {
  /**
   * A share.
   *
   * @param rank the rank, at least 0
   * @param ranges its parts of all files' bytes, in the order of reading
   * @param bytes how many bytes it reads, to within one line
   * @param files how many files it reads from
   */
  public RankShare {
    ranges = List.copyOf(ranges);
  }
}
