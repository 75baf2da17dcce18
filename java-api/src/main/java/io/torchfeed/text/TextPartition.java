// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Hash64;
import io.torchfeed.storage.ByteSource;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A plan that assigns the bytes of text files to ranks, computed before anything is read.
 *
 * <p>The bytes of the files, laid end to end, are divided into blocks of equal size, and each rank
 * has the same number of consecutive blocks. A line belongs to the rank whose bytes include its
 * first byte, and is read to its end: each line goes to exactly one rank, in the order of the
 * files. Lines end with a newline or with their file; blank lines are lines; a rank that has no
 * line's first byte has no lines. A compressed file cannot be divided: the rank that has its first
 * byte reads all of it.
 *
 * <p>Ranks that name the same files compute the same plan, which {@link #digest} can verify.
 * Immutable.
 *
 * <p>Source: Paracel's partition.hpp, {@code structure_load}.
 */
public final class TextPartition {
  private static final int MAX_BLOCKS_PER_RANK = 32;

  private final FileLayout layout;
  private final List<ByteRange> blocks;

  /** The ranges, by rank. */
  private final List<List<ByteRange>> ranges;

  private TextPartition(FileLayout layout, List<ByteRange> blocks, List<List<ByteRange>> ranges) {
    this.layout = layout;
    this.blocks = blocks;
    this.ranges = ranges;
  }

  /** Returns a plan of the same files, divided differently. */
  private TextPartition with(List<ByteRange> newBlocks, List<List<ByteRange>> newRanges) {
    return new TextPartition(layout, newBlocks, newRanges);
  }

  /**
   * Divides files whose lines stay with the rank that reads them: one block for each rank.
   *
   * @param paths files; directories, which stand for all files in them, at any depth, in the order
   *     of the bytes of their names, except hidden ones; and patterns with {@code *}, {@code ?},
   *     {@code [a-z]} and <code>{a,b}</code>. A leading {@code ~/} is the user's home directory.
   * @param worldSize the number of ranks, in [1, 65536]
   * @return the plan
   * @throws TextFileException if a file does not exist or cannot be read, or a pattern matches none
   * @throws IllegalArgumentException if worldSize is out of range, or the files have 2<sup>63</sup>
   *     bytes or more in total
   */
  public static TextPartition plan(List<String> paths, int worldSize) {
    requireNonNull(paths, "paths");
    return plan(paths, worldSize, 1);
  }

  /**
   * Divides files into several blocks per rank; {@link #steal} can move work between them.
   *
   * @param paths files, directories and patterns, as in {@link #plan(List, int)}
   * @param worldSize the number of ranks, in [1, 65536]
   * @param blocksPerRank the number of blocks per rank, in [1, 32]
   * @return the plan
   * @throws TextFileException if a file does not exist or cannot be read, or a pattern matches none
   * @throws IllegalArgumentException if an argument is out of range, or the files have
   *     2<sup>63</sup> bytes or more in total
   */
  public static TextPartition plan(List<String> paths, int worldSize, int blocksPerRank) {
    requireNonNull(paths, "paths");
    requireWorldSize(worldSize);
    if (blocksPerRank < 1 || blocksPerRank > MAX_BLOCKS_PER_RANK) {
      throw new IllegalArgumentException(
          "blocksPerRank must be in [1, %d], got %d".formatted(MAX_BLOCKS_PER_RANK, blocksPerRank));
    }
    return plan(FileLayout.of(FileList.of(paths)), worldSize, blocksPerRank);
  }

  /**
   * Divides the lines of sources, which may lie in any storage, with one block for each rank.
   * Order, digest and states equal a plan's over files with the same names and sizes.
   *
   * @param sources borrowed, and read by the threads of the cursors; the caller closes them after
   *     the last one. Names that end in {@code .gz} or {@code .zst} are compressed texts
   * @param worldSize the number of ranks, in [1, 65536]
   * @return the plan, whose cursors refuse a source that has another size by then
   * @throws TextFileException if the size of a source cannot be determined
   * @throws IllegalArgumentException if worldSize is out of range, the name of a source is no path,
   *     or the sources have 2<sup>63</sup> bytes or more in total
   */
  public static TextPartition of(List<ByteSource> sources, int worldSize) {
    requireNonNull(sources, "sources");
    requireWorldSize(worldSize);
    return plan(FileLayout.ofSources(sources), worldSize, 1);
  }

  private static TextPartition plan(FileLayout layout, int worldSize, int blocksPerRank) {
    List<ByteRange> all = List.of(new ByteRange(0, layout.bytes()));
    List<ByteRange> blocks =
        RangeDivision.divide(all, (long) worldSize * blocksPerRank).stream()
            .map(block -> block.get(0))
            .toList();
    List<List<ByteRange>> ranges =
        IntStream.range(0, worldSize)
            .mapToObj(
                rank ->
                    RangeDivision.joined(
                        blocks.subList(rank * blocksPerRank, (rank + 1) * blocksPerRank)))
            .toList();
    return new TextPartition(layout, blocks, ranges);
  }

  private static void requireWorldSize(int worldSize) {
    Checks.requireFewRanks(worldSize);
  }

  /**
   * Divides the lines left after an interruption, so that each is read exactly once.
   *
   * <p>If there are as many ranks as states, rank r continues state r. Otherwise the remaining
   * ranges are laid end to end in the order of the states and divided again, into blocks of equal
   * size.
   *
   * @param states one for each rank that has been reading, in the order of the ranks; taken from
   *     cursors of this plan, or of another plan of the same files
   * @param worldSize the number of ranks from now on, in [1, 65536]
   * @return the plan of the remaining lines
   * @throws IllegalArgumentException if a state belongs to other files, there are none, or
   *     worldSize is out of range
   */
  public TextPartition resume(List<TextState> states, int worldSize) {
    requireNonNull(states, "states");
    requireWorldSize(worldSize);
    if (states.isEmpty()) {
      throw new IllegalArgumentException("states must hold one for each rank, got none");
    }
    Checks.copyOf("states", states).forEach(layout::requireOwn);
    List<List<ByteRange>> rests = states.stream().map(TextState::rest).toList();
    if (states.size() != worldSize) {
      List<ByteRange> all = rests.stream().flatMap(List::stream).toList();
      rests = RangeDivision.divide(all, worldSize).stream().map(RangeDivision::joined).toList();
    }
    return with(rests.stream().flatMap(List::stream).toList(), rests);
  }

  /**
   * Assigns the same blocks round-robin: block b to rank b mod worldSize. Use it initially if ranks
   * differ in speed and {@link #steal} is to balance them.
   *
   * @return the plan; a rank's lines in it are no longer consecutive
   */
  public TextPartition roundRobin() {
    List<List<ByteRange>> divided = new ArrayList<>();
    for (int rank = 0; rank < worldSize(); rank++) {
      List<ByteRange> own = new ArrayList<>();
      for (int block = rank; block < blocks.size(); block += worldSize()) {
        if (blocks.get(block).length() > 0) {
          own.add(blocks.get(block));
        }
      }
      divided.add(List.copyOf(own));
    }
    return with(blocks, divided);
  }

  /**
   * Balances the remaining work by work stealing: as long as it helps, the rank with the fewest
   * bytes left takes the last block of the rank with the most. The result depends on the states
   * alone, so all ranks that know them compute the same plan; its {@link #ranges} define the owner
   * of each block, as do the states of its cursors.
   *
   * @param states one for each rank, in the order of the ranks
   * @return the plan of the remaining lines, for the same number of ranks
   * @throws IllegalArgumentException if a state belongs to other files, or there is not one for
   *     each rank
   */
  public TextPartition steal(List<TextState> states) {
    requireNonNull(states, "states");
    if (states.size() != worldSize()) {
      throw new IllegalArgumentException(
          "states must hold one for each of %d ranks, got %d"
              .formatted(worldSize(), states.size()));
    }
    Checks.copyOf("states", states).forEach(layout::requireOwn);
    return with(blocks, Stealing.evened(states.stream().map(TextState::rest).toList()));
  }

  /**
   * Opens one rank's lines. The caller owns and closes the cursor; cursors are independent of each
   * other.
   *
   * @param rank the rank, in [0, worldSize - 1]
   * @return a cursor before the first line
   * @throws IllegalArgumentException if there is no such rank
   */
  public LineCursor open(int rank) {
    return open(rank, LineOptions.defaults());
  }

  /**
   * Opens one rank's lines. The caller owns and closes the cursor.
   *
   * @param rank the rank, in [0, worldSize - 1]
   * @param options how to read lines
   * @return a cursor before the first line
   * @throws IllegalArgumentException if there is no such rank
   */
  public LineCursor open(int rank, LineOptions options) {
    requireNonNull(options, "options");
    return new LineCursor(this, ranges(rank), options);
  }

  /**
   * Opens the lines of all files. The caller owns and closes the cursor.
   *
   * @param options how to read lines
   * @return a cursor before the first line
   */
  public LineCursor openAll(LineOptions options) {
    requireNonNull(options, "options");
    return new LineCursor(this, List.of(new ByteRange(0, bytes())), options);
  }

  /**
   * Returns the files, in order.
   *
   * @return the files as they were when the plan was computed
   */
  public List<TextFile> files() {
    return layout.files();
  }

  /**
   * Returns the number of ranks.
   *
   * @return the number of ranks, in [1, 65536]
   */
  public int worldSize() {
    return ranges.size();
  }

  /**
   * Returns the total length of all files.
   *
   * @return the number of bytes, as stored, at least 0
   */
  public long bytes() {
    return layout.bytes();
  }

  /**
   * Returns the blocks that the plan assigns: blocks of equal size, except that the last may be
   * larger, by fewer bytes than there are blocks. For a plan returned by {@link #resume}, returns
   * the ranges of the ranks.
   *
   * @return the blocks in the order of their bytes; some may be empty
   */
  public List<ByteRange> blocks() {
    return blocks;
  }

  /**
   * Returns the ranges of bytes that one rank reads.
   *
   * @param rank the rank, in [0, worldSize - 1]
   * @return its ranges in the order of reading, none empty
   * @throws IllegalArgumentException if there is no such rank
   */
  public List<ByteRange> ranges(int rank) {
    Checks.requireRank(worldSize(), rank);
    return ranges.get(rank);
  }

  /**
   * Returns the share of each rank.
   *
   * @return one share for each rank, in order
   */
  public List<RankShare> shares() {
    return IntStream.range(0, worldSize())
        .mapToObj(rank -> layout.share(rank, ranges.get(rank)))
        .toList();
  }

  /**
   * Returns the imbalance of the division of bytes.
   *
   * @return the largest number of bytes of any rank divided by the mean: 1 if all have the same
   *     number, the number of ranks if one has all
   */
  public double imbalance() {
    long most = shares().stream().mapToLong(RankShare::bytes).max().orElse(0);
    double sum = shares().stream().mapToDouble(RankShare::bytes).sum();
    return sum == 0 ? 1 : most * (double) worldSize() / sum;
  }

  /**
   * Returns the plan as text: a line for each rank with its bytes, files and ranges, followed by
   * the imbalance and the files that could not be divided.
   *
   * @return lines that end with a newline
   */
  public String table() {
    return PartitionTable.of(this);
  }

  /**
   * Returns a digest of the plan, equal on all ranks that have the same plan. It covers the files
   * (their names without directories, lengths and order) and the ranges.
   *
   * @return any number
   */
  public long digest() {
    long digest = layout.digest();
    for (List<ByteRange> ofRank : ranges) {
      digest = Hash64.fold(digest, ofRank.size());
      for (ByteRange range : ofRank) {
        digest = Hash64.fold(Hash64.fold(digest, range.start()), range.end());
        digest = Hash64.fold(digest, range.textOffset());
      }
    }
    return digest;
  }

  FileLayout layout() {
    return layout;
  }

  @Override
  public String toString() {
    return "TextPartition[%d bytes in %d files over %d ranks]"
        .formatted(bytes(), files().size(), worldSize());
  }

  /**
   * The share of the files that one rank reads.
   *
   * @param rank the rank, at least 0
   * @param ranges its ranges of the bytes of all files, in the order of reading
   * @param bytes the number of bytes that it reads, to within one line: the bytes of its ranges,
   *     except that a compressed file counts as a whole for the rank that has its first byte
   * @param files the number of files that it reads
   */
  public record RankShare(int rank, List<ByteRange> ranges, long bytes, int files) {
    /**
     * Creates a share.
     *
     * @param rank the rank, at least 0
     * @param ranges its ranges of the bytes of all files, in the order of reading
     * @param bytes the number of bytes that it reads, to within one line
     * @param files the number of files that it reads
     */
    public RankShare {
      requireNonNull(ranges, "ranges");
      ranges = Checks.copyOf("ranges", ranges);
    }
  }
}
