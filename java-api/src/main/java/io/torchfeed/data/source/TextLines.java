// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.RangeBytes;
import io.torchfeed.internal.RangeBytes.Range;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.text.LineCursor;
import io.torchfeed.text.LineOptions;
import io.torchfeed.text.TextPartition;
import io.torchfeed.text.TextState;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A stream of the lines of text files. The bytes of all files are divided into one block per shard;
 * a line belongs to the shard whose block contains its first byte. Immutable, thread-safe.
 *
 * <pre>{@code
 * TextLines lines = TextLines.of(List.of("data/*.csv"), 8);
 * List<RowSpec> columns = List.of(RowSpec.of(DType.FLOAT32, 4), RowSpec.of(DType.INT64));
 * StreamDataset rows =
 *     lines.shuffled(10_000, 42).encode(TextRows.separatedBy(",", columns));
 * }</pre>
 *
 * <p>The position of a shard is a {@link TextState}, so resuming takes no time except in a
 * compressed file, which is decompressed again. A file that has changed since is an error, as is a
 * state of other files.
 */
public final class TextLines implements ObjectStreamDataset<TextLines.TextLine> {
  private final TextPartition plan;
  private final LineOptions options;

  private TextLines(TextPartition plan, LineOptions options) {
    this.plan = plan;
    this.options = options;
  }

  /**
   * Returns the lines of files, divided into blocks of equal size and read with {@link
   * LineOptions#defaults}.
   *
   * @param paths files, directories and patterns, as in {@link TextPartition#plan(List, int)}
   * @param shards the number of blocks, in [1, 65536]; it belongs to the data, see {@link
   *     io.torchfeed.data.StreamDataset}
   * @return the stream
   * @throws io.torchfeed.text.TextFileException if a file does not exist or cannot be read, or a
   *     pattern matches none
   * @throws IllegalArgumentException if {@code shards} is out of range
   */
  public static TextLines of(List<String> paths, int shards) {
    requireNonNull(paths, "paths");
    return of(TextPartition.plan(paths, shards), LineOptions.defaults());
  }

  /**
   * Returns the lines of an existing plan.
   *
   * @param plan the division of the bytes; its ranks are the shards
   * @param options how lines are read
   * @return the stream
   */
  public static TextLines of(TextPartition plan, LineOptions options) {
    return new TextLines(requireNonNull(plan, "plan"), requireNonNull(options, "options"));
  }

  @Override
  public int shards() {
    return plan.worldSize();
  }

  /**
   * Returns parameters of the kind {@code text}: a digest of the files and their blocks, and the
   * line terminator rule.
   */
  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("text")
        .with("plan", HexFormat.of().toHexDigits(plan.digest()))
        .with("carriageReturn", options.carriageReturn());
  }

  @Override
  public ObjectStreamDataset.ObjectStream<TextLine> open(
      long epoch, int shard, @Nullable String position) {
    if (position == null) {
      return new Lines(plan.open(shard, options));
    }
    TextState state = TextState.fromBytes(Base64.getUrlDecoder().decode(position));
    return new Lines(plan.resume(List.of(state), 1).open(0, options));
  }

  private record Lines(LineCursor cursor) implements ObjectStreamDataset.ObjectStream<TextLine> {
    @Override
    public @Nullable TextLine next() {
      return cursor.next() ? new TextLine(cursor.path(), cursor.offset(), cursor.text()) : null;
    }

    @Override
    public String position() {
      return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes(cursor.state()));
    }

    private static byte[] bytes(TextState state) {
      return new RangeBytes(
              state.filesDigest(),
              state.rest().stream()
                  .map(range -> new Range(range.start(), range.end(), range.textOffset()))
                  .toList())
          .toBytes();
    }

    @Override
    public void close() {
      cursor.close();
    }
  }

  /**
   * A line of a text file, and its origin.
   *
   * @param path the file
   * @param offset the position in the file's text where the line begins, in bytes
   * @param text the line without its terminator, with replacement characters where it is not UTF-8
   */
  public record TextLine(Path path, long offset, String text) {
    /**
     * Creates a line.
     *
     * @param path the file
     * @param offset the position in the file's text where the line begins, in bytes
     * @param text the line without its terminator
     */
    public TextLine {
      requireNonNull(path, "path");
      requireNonNull(text, "text");
    }
  }
}
