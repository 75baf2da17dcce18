// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Hash64;
import io.torchfeed.internal.PathBytes;
import io.torchfeed.storage.ByteSource;
import io.torchfeed.text.TextFileException.Problem;
import io.torchfeed.text.TextPartition.RankShare;
import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;

/** The files of a plan, laid end to end: where each begins among the bytes of all. Immutable. */
final class FileLayout {
  private final List<TextFile> files;

  /** The bytes of each file; empty if files are opened by their paths. */
  private final List<ByteSource> sources;

  private final long digest;

  /** The offset at which each file begins, followed by the total number of bytes. */
  private final long[] starts;

  private FileLayout(List<TextFile> files, List<ByteSource> sources) {
    this.files = files;
    this.sources = sources;
    digest = digest(files);
    starts = starts(files);
  }

  /**
   * Lays files end to end.
   *
   * @throws IllegalArgumentException if they have 2<sup>63</sup> bytes or more in total
   */
  static FileLayout of(List<TextFile> files) {
    return new FileLayout(files, List.of());
  }

  /** Like {@link #of}, for sources that the program owns. */
  static FileLayout ofSources(List<ByteSource> sources) {
    List<ByteSource> kept = Checks.copyOf("sources", sources);
    return new FileLayout(kept.stream().map(FileLayout::fileOf).toList(), kept);
  }

  private static TextFile fileOf(ByteSource source) {
    Path path = Path.of(requireNonNull(source.name(), "the name of a source"));
    try {
      return new TextFile(
          path,
          TextSource.sizeOf(source),
          FileTime.fromMillis(0),
          LineOptions.Compression.of(String.valueOf(path.getFileName())));
    } catch (IOException e) {
      throw new TextFileException(
          path, Problem.UNREADABLE, "cannot be read: " + Failures.reason(e), e);
    }
  }

  /** Opens the text of a file. */
  TextSource open(int file, int mostBytes) {
    ByteSource source = sources.isEmpty() ? null : sources.get(file);
    return TextSource.open(files.get(file), source, mostBytes);
  }

  private static long[] starts(List<TextFile> files) {
    long[] starts = new long[files.size() + 1];
    for (int i = 0; i < files.size(); i++) {
      starts[i + 1] = starts[i] + files.get(i).bytes();
      if (starts[i + 1] < 0) {
        throw new IllegalArgumentException(
            "paths must have at most %d bytes in total, got more with %s"
                .formatted(Long.MAX_VALUE, files.get(i).path()));
      }
    }
    return starts;
  }

  private static long digest(List<TextFile> files) {
    long digest = 0;
    for (TextFile file : files) {
      byte[] name = PathBytes.name(file.path());
      digest = Hash64.fold(digest, Hash64.fnv1a(name, 0, name.length));
      digest = Hash64.fold(digest, file.bytes());
    }
    return digest;
  }

  List<TextFile> files() {
    return files;
  }

  /** Returns the total length of all files. */
  long bytes() {
    return starts[files.size()];
  }

  /** Returns a digest of the names, lengths and order of the files. */
  long digest() {
    return digest;
  }

  /**
   * Checks that a state is of a plan of these files.
   *
   * @throws IllegalArgumentException if it belongs to other files
   */
  void requireOwn(TextState state) {
    if (state.filesDigest() != digest()) {
      throw new IllegalArgumentException(
          "states must belong to the files of the plan, whose digest is %016x, got %016x"
              .formatted(digest(), state.filesDigest()));
    }
    for (ByteRange range : state.rest()) {
      if (range.end() > bytes()) {
        throw new IllegalArgumentException(
            "states must lie within the %d bytes of the files, got %s".formatted(bytes(), range));
      }
    }
  }

  /** Returns the share of a rank that has these ranges. */
  RankShare share(int rank, List<ByteRange> ranges) {
    long bytes = 0;
    int read = 0;
    for (ByteRange range : ranges) {
      for (int f = fileAt(range.start()); f < files.size() && starts[f] < range.end(); f++) {
        long shared = shared(range, f);
        bytes += shared;
        read += shared > 0 ? 1 : 0;
      }
    }
    return new RankShare(rank, ranges, bytes, read);
  }

  private long shared(ByteRange range, int file) {
    if (files.get(file).isSplittable()) {
      return Math.min(range.end(), starts[file + 1]) - Math.max(range.start(), starts[file]);
    }
    return range.contains(starts[file]) ? files.get(file).bytes() : 0;
  }

  /**
   * Returns the number of the file that holds a byte; the number of files if the offset is past the
   * end.
   */
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
}
