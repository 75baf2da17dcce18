// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.partition.LineCursor;
import io.torchfeed.partition.LineOptions;
import io.torchfeed.partition.TextPartition;
import io.torchfeed.partition.TextState;
import io.torchfeed.sampler.PlanParameters;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The lines of text files as a stream: the bytes of all files in as many blocks as there are
 * shards, each line in the shard in whose block its first byte lies. Immutable, thread-safe.
 *
 * <pre>{@code
 * TextLines lines = TextLines.of(List.of("data/*.csv"), 8);
 * List<RowSpec> columns = List.of(RowSpec.of(DType.FLOAT32, 4), RowSpec.of(DType.INT64));
 * StreamDataset rows =
 *     StreamDataset.of(lines.shuffled(10_000, 42), TextRows.separatedBy(",", columns));
 * }</pre>
 *
 * <p>The position of a shard is a {@link TextState}, so going on takes no time but in a compressed
 * file, which is unpacked again. A file that changed since is an error, as is a state of other
 * files.
 */
public final class TextLines implements ObjectStreamDataset<TextLine> {
  private final TextPartition plan;
  private final LineOptions options;

  private TextLines(TextPartition plan, LineOptions options) {
    this.plan = plan;
    this.options = options;
  }

  /**
   * The lines of files, divided into blocks of equal size.
   *
   * @param paths files, directories and patterns, as in {@link TextPartition#plan(List, int)}
   * @param shards the number of blocks, at least 1; it belongs to the data, see {@link
   *     StreamDataset}
   * @return the stream
   * @throws io.torchfeed.partition.TextFileException if a file does not exist or cannot be read, or
   *     a pattern matches none
   * @throws IllegalArgumentException if {@code shards} is below 1
   */
  public static TextLines of(List<String> paths, int shards) {
    return of(TextPartition.plan(paths, shards), LineOptions.DEFAULT);
  }

  /**
   * The lines of a plan that was made before.
   *
   * @param plan who reads which bytes; its ranks are the shards
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

  /** Of the kind {@code text}: a digest of the files and their blocks, and how lines end. */
  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("text")
        .with("plan", HexFormat.of().toHexDigits(plan.digest()))
        .with("carriageReturn", options.carriageReturn());
  }

  @Override
  public ObjectStream<TextLine> open(long epoch, int shard, @Nullable String position) {
    if (position == null) {
      return new Lines(plan.open(shard, options));
    }
    TextState state = TextState.fromBytes(Base64.getUrlDecoder().decode(position));
    return new Lines(plan.resume(List.of(state), 1).open(0, options));
  }

  private record Lines(LineCursor cursor) implements ObjectStream<TextLine> {
    @Override
    public @Nullable TextLine next() {
      return cursor.next() ? new TextLine(cursor.path(), cursor.offset(), cursor.text()) : null;
    }

    @Override
    public String position() {
      return Base64.getUrlEncoder().withoutPadding().encodeToString(cursor.state().toBytes());
    }

    @Override
    public void close() {
      cursor.close();
    }
  }
}
