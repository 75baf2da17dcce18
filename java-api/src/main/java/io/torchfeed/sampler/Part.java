// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import io.torchfeed.internal.Checks;

/**
 * The part of the data that this process gets: one rank's, among all the ranks that share the data.
 * Every rank passes the same world size and its own rank.
 *
 * @param worldSize the number of ranks, at least 1
 * @param rank the rank of this process, in [0, worldSize - 1]
 */
public record Part(int worldSize, int rank) {
  private static final Part WHOLE = new Part(1, 0);

  /** A rank whose world size follows, as in {@code Part.rank(0).of(2)}. Immutable. */
  public static final class Rank {
    private final int number;

    private Rank(int number) {
      this.number = number;
    }

    /**
     * Returns the part of the rank.
     *
     * @param worldSize the number of ranks, above the number of the rank
     * @return the part
     * @throws IllegalArgumentException if there is no such rank
     */
    public Part of(int worldSize) {
      return new Part(worldSize, number);
    }
  }

  /**
   * Creates the part of a rank.
   *
   * @param worldSize the number of ranks, at least 1
   * @param rank the rank of this process, in [0, worldSize - 1]
   * @throws IllegalArgumentException if an argument is out of range
   */
  public Part {
    try {
      Checks.requireRank(worldSize, rank);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "%s; worldSize is %d and rank is %d%s"
              .formatted(e.getMessage(), worldSize, rank, hint(worldSize, rank)));
    }
  }

  private static String hint(int worldSize, int rank) {
    return worldSize >= 0 && worldSize < rank
        ? ", or if they are swapped, Part.rank(%d).of(%d)".formatted(worldSize, rank)
        : "";
  }

  /**
   * Begins the part of a rank, as in {@code Part.rank(0).of(2)}.
   *
   * @param rank the rank of this process, at least 0
   * @return the rank, for its {@link Rank#of}
   */
  public static Rank rank(int rank) {
    return new Rank(rank);
  }

  /**
   * Returns the part of a single process: all of the data.
   *
   * @return rank 0 of 1
   */
  public static Part whole() {
    return WHOLE;
  }

  /**
   * Returns the part as text.
   *
   * @return for example {@code rank 2 of 4}
   */
  @Override
  public String toString() {
    return "rank %d of %d".formatted(rank, worldSize);
  }
}
