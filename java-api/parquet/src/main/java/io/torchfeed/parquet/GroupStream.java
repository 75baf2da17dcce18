// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.parquet.ParquetException.Problem;
import io.torchfeed.parquet.StorePlan.Piece;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The rows of a shard, row group by row group and window by window. */
final class GroupStream implements StreamDataset.ColumnStream {
  private final StreamRule rule;
  private final long epoch;
  private final List<Piece> pieces;
  private final SharedContext context;
  private final GroupReader reader;
  private final Window window;

  private int at; // in pieces
  private long first; // row of the window
  private int delivered; // rows of the window
  private @Nullable GroupPosition resumed; // until its window is read
  private GroupReader.@Nullable Group group;

  private GroupStream(
      StreamRule rule, long epoch, List<Piece> pieces, int at, SharedContext context) {
    this.rule = rule;
    this.epoch = epoch;
    this.pieces = pieces;
    this.at = at;
    this.context = context;
    window = new Window(rule);
    reader = new GroupReader(context.acquire(), context.memory(), rule.batchRows(), rule.filter());
  }

  /**
   * Opens a shard.
   *
   * @throws IllegalArgumentException if it has no such position in this epoch
   */
  static GroupStream open(
      StreamRule rule, long epoch, int shard, @Nullable String position, SharedContext context) {
    List<Piece> pieces = rule.pieces(epoch, shard);
    if (position == null) {
      return new GroupStream(rule, epoch, pieces, 0, context);
    }
    GroupPosition resumed = GroupPosition.of(position);
    int at = 0;
    while (at < pieces.size() && pieces.get(at).number() != resumed.group()) {
      at++;
    }
    if (at == pieces.size() && resumed.group() != rule.plan().pieces().size()) {
      throw new IllegalArgumentException(
          "shard %d has no row group %d in epoch %d".formatted(shard, resumed.group(), epoch));
    }
    GroupStream stream = new GroupStream(rule, epoch, pieces, at, context);
    stream.first = resumed.row();
    stream.resumed = resumed.delivered() == 0 ? null : resumed;
    return stream;
  }

  @Override
  public int nextRows(SampleWriter samples, int max) throws IOException {
    if (delivered == window.rows() && !fill()) {
      return 0;
    }
    int count = window.goodRows(delivered, max);
    if (count > 0) {
      window.put(delivered, count, samples);
      delivered += count;
      return count;
    }
    ParquetException refusal = window.refusal(delivered);
    delivered++;
    throw refusal == null ? new IllegalStateException("a row that fits was left out") : refusal;
  }

  /** Reads the next window; after a failure, the next call reads the same one. */
  private boolean fill() throws IOException {
    first += window.rows();
    window.clear();
    delivered = 0;
    try {
      while (at < pieces.size()) {
        Piece piece = pieces.get(at);
        if (window.fill(group(piece), piece, epoch)) {
          resume(piece);
          return true;
        }
        if (resumed != null) {
          throw moved(piece, "it has no rows from row " + first + " on");
        }
        closeGroup();
        at++;
        first = 0;
      }
      return false;
    } catch (Throwable e) {
      window.clear();
      closeGroup();
      throw e;
    }
  }

  /** Returns the open group, before the first row of the window. */
  private GroupReader.Group group(Piece piece) throws IOException {
    GroupReader.Group open = group;
    if (open == null) {
      open = reader.open(piece.file(), piece.group(), piece.leaves());
      group = open;
      long row = 0;
      while (row < first && open.next()) {
        row += open.count();
      }
      if (row != first) {
        throw moved(piece, "no window begins at row " + first);
      }
    }
    return open;
  }

  /** Leaves out the rows that were delivered before. */
  private void resume(Piece piece) {
    GroupPosition saved = resumed;
    if (saved != null) {
      if (saved.rows() != window.rows() || saved.delivered() > saved.rows()) {
        throw moved(
            piece,
            "the window at row %d has %d rows, not %d"
                .formatted(first, window.rows(), saved.rows()));
      }
      delivered = saved.delivered();
      resumed = null;
    }
  }

  private static ParquetException moved(Piece piece, String problem) {
    return new ParquetException(
        Problem.CHANGED,
        "%s, row group %d is another one than in the saved position: %s"
            .formatted(piece.file().name(), piece.group().number(), problem));
  }

  @Override
  public String position() {
    if (resumed != null) {
      return resumed.toString();
    } else if (at == pieces.size()) {
      return GroupPosition.before(rule.plan().pieces().size(), 0).toString();
    }
    Piece piece = pieces.get(at);
    if (delivered < window.rows() && delivered > 0) {
      return new GroupPosition(piece.number(), first, delivered, window.rows()).toString();
    }
    long next = first + delivered;
    if (rule.filter() != null || next < piece.group().rows()) {
      return GroupPosition.before(piece.number(), next).toString();
    }
    return GroupPosition.before(
            at + 1 < pieces.size() ? pieces.get(at + 1).number() : rule.plan().pieces().size(), 0)
        .toString();
  }

  private void closeGroup() {
    GroupReader.Group open = group;
    group = null;
    if (open != null) {
      open.close();
    }
  }

  @Override
  public void close() throws IOException {
    try (reader) {
      closeGroup();
    } finally {
      window.close();
      context.release();
    }
  }
}
