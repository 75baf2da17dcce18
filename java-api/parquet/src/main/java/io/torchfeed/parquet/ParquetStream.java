// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import dev.hardwood.reader.FilterPredicate;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.PlanParameters;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Rows of Parquet files that a {@code DataLoader} reads one after the other, without a copy on the
 * disk.
 *
 * <pre>{@code
 * ParquetFiles files = ParquetFiles.inFolder(Path.of("clicks.parquet"));
 * ParquetStream clicks =
 *     files
 *         .rows(ParquetColumn.of("user", DType.INT64), ParquetColumn.of("x", DType.FLOAT32, 13))
 *         .stream(8)
 *         .filtered(FilterPredicate.gtEq("day", 20_000L))
 *         .shuffled(50_000, 42);
 * try (DataLoader loader =
 *         DataLoader.over(clicks).part(Part.rank(0).of(2)).batchSize(1024).build();
 *     Batches batches = loader.epoch(0)) {
 *   for (Batch batch : batches) {
 *     step(batch.tensor("user"), batch.tensor("x"));
 *   }
 * }
 * }</pre>
 *
 * <p>In each epoch, the row groups of all files are assigned one by one to the shard with the
 * fewest rows; a shard reads one row group at a time. The shards of a rank take turns, a batch
 * each. A saved position is the row group, the row where a window begins, and how many rows of it
 * were delivered: any number of ranks continues from it with each row once, and a shard reads at
 * most one row group again. It holds for equal files, wherever they are: the names, sizes and
 * footers count, not the folder, the time or the kind of source.
 *
 * <p><b>Quality of the shuffle.</b> Row groups come in a random order over all files, another one
 * in each epoch. Within a row group, each {@code window} consecutive rows are in random order, so
 * that a row moves {@code window / 3} rows on average. A batch has rows of one window, or of more
 * where windows end: in sorted files its rows are neighbours, however many epochs are read. Rows of
 * different row groups only meet in the turns of the shards. {@link ParquetRows#store} gives a
 * random order over all rows.
 *
 * <p>Each open shard holds a window, the bytes of its row group, and some batches that Hardwood
 * decodes ahead. The bytes are in direct memory, which {@code -XX:MaxDirectMemorySize} limits; it
 * stays for the next epoch, as long as the stream is reachable. A value that does not fit is an
 * exception for its row, and {@code FailurePolicy.skipSample} leaves out the row. If a file is
 * damaged or has changed, a shard cannot continue, and is given up for the pass.
 *
 * <p>Immutable and thread-safe. Sources stay open as long as it is read.
 */
public final class ParquetStream implements StreamDataset {
  private static final int MAX_SHARDS = 1 << 16;

  private final StreamRule rule;
  private final SharedContext context;

  private ParquetStream(StreamRule rule, SharedContext context) {
    this.rule = rule;
    this.context = context;
  }

  static ParquetStream of(StorePlan plan, int shards, int threads) {
    if (shards < 1 || shards > MAX_SHARDS) {
      throw new IllegalArgumentException(
          "shards must be in [1, %d], got %d".formatted(MAX_SHARDS, shards));
    }
    return new ParquetStream(StreamRule.of(plan, shards), new SharedContext(threads));
  }

  /**
   * Returns this stream with shuffled row groups, and rows shuffled in windows.
   *
   * @param window how many consecutive rows of a row group are shuffled, at least 1, rounded down
   *     to whole batches of the reader; one as large as the row groups mixes all rows of each
   * @param seed any number
   * @return the new stream
   * @throws IllegalArgumentException if {@code window} is below 1, or its rows of a column take
   *     2^31 bytes or more
   */
  public ParquetStream shuffled(int window, long seed) {
    if (window < 1) {
      throw new IllegalArgumentException("window must be at least 1, got " + window);
    }
    for (RowSpec row : columns()) {
      if (window > Integer.MAX_VALUE / row.bytes()) {
        throw new IllegalArgumentException(
            "a window must have fewer than 2^31 bytes of a column, got %d rows of %s"
                .formatted(window, row));
      }
    }
    return new ParquetStream(rule.shuffled(window, seed), context);
  }

  /**
   * Returns this stream with only some of the rows. Row groups and pages in which no row can match
   * are not read, by their statistics; of the others, the columns of the filter are read, too.
   *
   * @param filter a predicate of Hardwood's on columns that are not lists, by their paths, with
   *     values of the column's physical type; it replaces an earlier one. One that does not fit a
   *     file's columns is a {@link ParquetException} when the file is read
   * @return the new stream
   */
  public ParquetStream filtered(FilterPredicate filter) {
    requireNonNull(filter, "filter");
    return new ParquetStream(rule.filtered(filter), context);
  }

  ReadMemory memory() {
    return context.memory();
  }

  @Override
  public int shards() {
    return rule.shards();
  }

  /**
   * Returns the names, dtypes and shapes of the columns.
   *
   * @return an unmodifiable list
   */
  @Override
  public List<RowSpec> columns() {
    return rule.plan().columns();
  }

  @Override
  public SampleStream open(long epoch, int shard, @Nullable String position) {
    return GroupStream.open(rule, epoch, shard, position, context);
  }

  /**
   * Returns parameters of the kind {@code parquet}: digests of the columns and files, the rows that
   * are read at once, and, where it has them, the window, its seed and a digest of the filter.
   */
  @Override
  public PlanParameters parameters() {
    StorePlan plan = rule.plan();
    PlanParameters parameters =
        PlanParameters.of("parquet")
            .with("columns", digest(plan.sources().stream().map(ColumnSource::describe)))
            .with("files", digest(plan.pieces().stream().map(ParquetStream::described)))
            .with("batchRows", rule.batchRows());
    if (rule.isShuffled()) {
      parameters = parameters.with("window", rule.windowRows()).with("shuffleSeed", rule.seed());
    }
    FilterPredicate filter = rule.filter();
    return filter == null
        ? parameters
        : parameters.with("filter", digest(Stream.of(PredicateText.of(filter))));
  }

  private static String described(StorePlan.Piece piece) {
    Path name = Path.of(piece.file().name()).getFileName();
    return "%s %s %d".formatted(name, piece.file().content(), piece.group().number());
  }

  private static String digest(Stream<String> lines) {
    MessageDigest digest = SourceInput.sha256();
    lines.forEach(line -> digest.update((line + "\n").getBytes(UTF_8)));
    return HexFormat.of().formatHex(digest.digest());
  }

  /** Returns the columns, and the numbers of rows and shards. */
  @Override
  public String toString() {
    return "%s of %d rows in %d shards".formatted(columns(), rule.plan().rows(), rule.shards());
  }
}
