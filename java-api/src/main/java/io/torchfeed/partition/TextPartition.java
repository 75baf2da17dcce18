// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.util.Objects.requireNonNull;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Who reads which bytes of text files: a plan, made before anything is read.
 *
 * <p>The files' bytes, laid end to end, are cut into blocks of equal size, and each rank has as
 * many neighbouring blocks. A line belongs to the rank in whose bytes its first byte lies, and is
 * read to its end: each line goes to exactly one rank, in the order of the files. Lines end with a
 * newline or with their file; blank lines are lines; a rank without the first byte of any line has
 * none. A compressed file cannot be divided: the rank that has its first byte has all of it.
 *
 * <p>Ranks that name the same files make the same plan; {@link #digest} tells. Immutable.
 *
 * <p>Source: Paracel's partition.hpp, {@code structure_load}.
 */
public final class TextPartition {
  private final List<TextFile> files;

  /** Where each file begins, and at the end the sum of all. */
  private final long[] starts;

  private final List<ByteRange> blocks;

  /** By rank. */
  private final List<List<ByteRange>> ranges;

  private TextPartition(
      List<TextFile> files, long[] starts, List<ByteRange> blocks, List<List<ByteRange>> ranges) {
    this.files = files;
    this.starts = starts;
    this.blocks = blocks;
    this.ranges = ranges;
  }

  /**
   * Divides files whose lines stay where they are read: a block for each rank.
   *
   * @param paths files; directories, which stand for all files in them in sorted order, at any
   *     depth, hidden ones left out; and patterns with {@code *}, {@code ?}, {@code [a-z]} and
   *     <code>{a,b}</code>. {@code ~/} at the beginning is the user's directory.
   * @param worldSize number of ranks, at least 1
   * @return the plan
   * @throws TextFileException if a file does not exist or cannot be read, or a pattern matches none
   * @throws IllegalArgumentException if worldSize is below 1 or the files have 2<sup>63</sup> bytes
   *     or more
   */
  public static TextPartition plan(List<String> paths, int worldSize) {
    return plan(paths, worldSize, LinePattern.LINESPLIT);
  }

  /**
   * Divides files with the blocks of a pattern.
   *
   * @param paths files, directories and patterns, as in {@link #plan(List, int)}
   * @param worldSize number of ranks, at least 1
   * @param pattern what the lines hold; says how many blocks a rank has
   * @return the plan
   * @throws TextFileException if a file does not exist or cannot be read, or a pattern matches none
   * @throws IllegalArgumentException if worldSize is below 1 or the files have 2<sup>63</sup> bytes
   *     or more
   */
  public static TextPartition plan(List<String> paths, int worldSize, LinePattern pattern) {
    requireNonNull(pattern, "pattern");
    requireWorldSize(worldSize);
    List<TextFile> files = FileList.of(paths);
    long[] starts = starts(files);
    List<ByteRange> all = List.of(new ByteRange(0, starts[files.size()]));
    int blocksPerRank = pattern.blocksPerRank();
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
    return new TextPartition(files, starts, blocks, ranges);
  }

  private static void requireWorldSize(int worldSize) {
    if (worldSize < 1 || worldSize > Integer.MAX_VALUE / LinePattern.FMAP.blocksPerRank()) {
      throw new IllegalArgumentException(
          "worldSize must be in [1, %d], got %d"
              .formatted(Integer.MAX_VALUE / LinePattern.FMAP.blocksPerRank(), worldSize));
    }
  }

  private static long[] starts(List<TextFile> files) {
    long[] starts = new long[files.size() + 1];
    for (int i = 0; i < files.size(); i++) {
      starts[i + 1] = starts[i] + files.get(i).bytes();
      if (starts[i + 1] < 0) {
        throw new IllegalArgumentException(
            "paths must have %d bytes together at most, got more with %s"
                .formatted(Long.MAX_VALUE, files.get(i).path()));
      }
    }
    return starts;
  }

  /**
   * Divides what is left after an interruption, each line exactly once.
   *
   * <p>With as many ranks as states rank r continues state r. Otherwise the rests are laid end to
   * end in the order of the states and divided anew, in blocks of equal size.
   *
   * @param states one of each rank that read so far, in the order of the ranks; taken from cursors
   *     of this plan, or of one of the same files
   * @param worldSize number of ranks from now on, at least 1
   * @return the plan of the rest
   * @throws IllegalArgumentException if a state belongs to other files, there are none, or
   *     worldSize is below 1
   */
  public TextPartition resume(List<TextState> states, int worldSize) {
    requireWorldSize(worldSize);
    if (states.isEmpty()) {
      throw new IllegalArgumentException("states must hold one of each rank, got none");
    }
    states.forEach(this::requireOwn);
    List<List<ByteRange>> rests = states.stream().map(TextState::rest).toList();
    if (states.size() != worldSize) {
      List<ByteRange> all = rests.stream().flatMap(List::stream).toList();
      rests = RangeDivision.divide(all, worldSize).stream().map(RangeDivision::joined).toList();
    }
    return new TextPartition(files, starts, rests.stream().flatMap(List::stream).toList(), rests);
  }

  /**
   * The same blocks dealt out in turns: block b to rank b mod worldSize. To begin with, if ranks
   * differ in speed and {@link #steal} is to even that out.
   *
   * @return the plan, in which a rank's lines are no longer neighbours
   */
  public TextPartition dealt() {
    List<List<ByteRange>> dealt = new ArrayList<>();
    for (int rank = 0; rank < worldSize(); rank++) {
      List<ByteRange> own = new ArrayList<>();
      for (int block = rank; block < blocks.size(); block += worldSize()) {
        if (blocks.get(block).length() > 0) {
          own.add(blocks.get(block));
        }
      }
      dealt.add(List.copyOf(own));
    }
    return new TextPartition(files, starts, blocks, dealt);
  }

  /**
   * Work stealing: as long as it helps, the rank with fewest bytes left takes the last block of the
   * one with most. A function of the states alone, so that all ranks that know them come to the
   * same plan, whose {@link #ranges} say who has which block, as do the states of its cursors.
   *
   * @param states one of each rank, in the order of the ranks
   * @return the plan of the rest, of as many ranks
   * @throws IllegalArgumentException if a state belongs to other files, or there is not one of each
   *     rank
   */
  public TextPartition steal(List<TextState> states) {
    if (states.size() != worldSize()) {
      throw new IllegalArgumentException(
          "states must hold one of each of %d ranks, got %d".formatted(worldSize(), states.size()));
    }
    states.forEach(this::requireOwn);
    return new TextPartition(
        files, starts, blocks, Stealing.evened(states.stream().map(TextState::rest).toList()));
  }

  private void requireOwn(TextState state) {
    if (state.filesDigest() != filesDigest()) {
      throw new IllegalArgumentException(
          "states must belong to the files of the plan, whose digest is %016x, got %016x"
              .formatted(filesDigest(), state.filesDigest()));
    }
    for (ByteRange range : state.rest()) {
      if (range.end() > bytes()) {
        throw new IllegalArgumentException(
            "states must lie within the %d bytes of the files, got %s".formatted(bytes(), range));
      }
    }
  }

  /**
   * Opens one rank's lines. The caller owns and closes the cursor; cursors do not disturb each
   * other.
   *
   * @param rank the rank, in [0, worldSize - 1]
   * @return a cursor before the first line
   * @throws IllegalArgumentException if there is no such rank
   */
  public LineCursor open(int rank) {
    return open(rank, LineOptions.DEFAULT);
  }

  /**
   * Opens one rank's lines. The caller owns and closes the cursor.
   *
   * @param rank the rank, in [0, worldSize - 1]
   * @param options how lines are read
   * @return a cursor before the first line
   * @throws IllegalArgumentException if there is no such rank
   */
  public LineCursor open(int rank, LineOptions options) {
    return new LineCursor(this, ranges(rank), options);
  }

  /** The lines of all files. */
  LineCursor openAll() {
    return new LineCursor(this, List.of(new ByteRange(0, bytes())), LineOptions.DEFAULT);
  }

  /**
   * The files, in their order.
   *
   * @return the files as they were when the plan was made
   */
  public List<TextFile> files() {
    return files;
  }

  /**
   * The number of ranks.
   *
   * @return the number of ranks, at least 1
   */
  public int worldSize() {
    return ranges.size();
  }

  /**
   * The length of all files.
   *
   * @return the number of bytes as stored, at least 0
   */
  public long bytes() {
    return starts[files.size()];
  }

  /**
   * What was divided: blocks of equal size, the last of which has up to as many bytes more as there
   * are blocks. Of a plan of a rest: the ranks' ranges.
   *
   * @return the blocks in the order of the bytes, some of which may be empty
   */
  public List<ByteRange> blocks() {
    return blocks;
  }

  /**
   * Which bytes one rank reads.
   *
   * @param rank the rank, in [0, worldSize - 1]
   * @return its ranges in the order of reading, none of them empty
   * @throws IllegalArgumentException if there is no such rank
   */
  public List<ByteRange> ranges(int rank) {
    if (rank < 0 || rank >= worldSize()) {
      throw new IllegalArgumentException(
          "rank must be in [0, %d], got %d".formatted(worldSize() - 1, rank));
    }
    return ranges.get(rank);
  }

  /**
   * What each rank reads.
   *
   * @return one share for each rank, in their order
   */
  public List<RankShare> shares() {
    return IntStream.range(0, worldSize()).mapToObj(this::share).toList();
  }

  private RankShare share(int rank) {
    long bytes = 0;
    int read = 0;
    for (ByteRange range : ranges.get(rank)) {
      for (int f = fileAt(range.start()); f < files.size() && starts[f] < range.end(); f++) {
        long shared = shared(range, f);
        bytes += shared;
        read += shared > 0 ? 1 : 0;
      }
    }
    return new RankShare(rank, ranges.get(rank), bytes, read);
  }

  private long shared(ByteRange range, int file) {
    if (files.get(file).isSplittable()) {
      return Math.min(range.end(), starts[file + 1]) - Math.max(range.start(), starts[file]);
    }
    return range.contains(starts[file]) ? files.get(file).bytes() : 0;
  }

  /**
   * How unevenly the bytes are divided.
   *
   * @return the largest number of bytes of a rank over the mean: 1 if all have as many, the number
   *     of ranks if one has all
   */
  public double imbalance() {
    long most = shares().stream().mapToLong(RankShare::bytes).max().orElse(0);
    double sum = shares().stream().mapToDouble(RankShare::bytes).sum();
    return sum == 0 ? 1 : most * (double) worldSize() / sum;
  }

  /**
   * The plan as text: a line for each rank with its bytes, its ranges and its files, then the
   * imbalance and the files that could not be divided.
   *
   * @return lines that end with a newline
   */
  public String table() {
    return PartitionTable.of(this);
  }

  /**
   * A digest of the plan, equal on all ranks that planned the same: of files (their names without
   * folders, lengths and order) and ranges.
   *
   * @return any number
   */
  public long digest() {
    long digest = filesDigest();
    for (List<ByteRange> ofRank : ranges) {
      digest = Mixing.fold(digest, ofRank.size());
      for (ByteRange range : ofRank) {
        digest = Mixing.fold(Mixing.fold(digest, range.start()), range.end());
        digest = Mixing.fold(digest, range.textOffset());
      }
    }
    return digest;
  }

  long filesDigest() {
    long digest = 0;
    for (TextFile file : files) {
      Object name = requireNonNull(file.path().getFileName(), "a file has a name");
      digest = Mixing.fold(Mixing.fold(digest, Mixing.fnv1a(name.toString())), file.bytes());
    }
    return digest;
  }

  /** The file that holds a byte; the number of files if the offset lies behind all. */
  int fileAt(long offset) {
    int at = Arrays.binarySearch(starts, offset);
    if (at < 0) {
      return -at - 2;
    }
    while (at < files.size() && starts[at + 1] == offset) {
      at++;
    }
    return at;
  }

  long startOf(int file) {
    return starts[file];
  }

  @Override
  public String toString() {
    return "TextPartition[%d bytes in %d files over %d ranks]"
        .formatted(bytes(), files.size(), worldSize());
  }
}
