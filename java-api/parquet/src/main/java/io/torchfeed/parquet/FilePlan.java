// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.HardwoodContext;
import dev.hardwood.metadata.ColumnChunk;
import dev.hardwood.metadata.FileMetaData;
import dev.hardwood.metadata.RowGroup;
import dev.hardwood.reader.ParquetFileReader;
import dev.hardwood.schema.FileSchema;
import io.torchfeed.parquet.ParquetException.Problem;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * The contents of a file, from its footer.
 *
 * @param name of the file
 * @param input makes an input of it
 * @param identity changes with the size, footer and version
 * @param schema of its columns
 * @param groups its row groups with rows, as an unmodifiable list
 */
record FilePlan(
    String name,
    Supplier<SourceInput> input,
    String identity,
    FileSchema schema,
    List<GroupPlace> groups) {
  /**
   * A row group.
   *
   * @param number in the file
   * @param rows in it
   * @param middle the byte by which Hardwood tells it from others
   */
  record GroupPlace(int number, long rows, long middle) {}

  /** Reads the footer of a file. */
  static FilePlan read(Supplier<SourceInput> opener, HardwoodContext context) {
    SourceInput input = opener.get();
    String name = input.name();
    try (ParquetFileReader reader = ParquetFileReader.open(input, context)) {
      FileMetaData footer = reader.getFileMetaData();
      List<GroupPlace> groups = new ArrayList<>();
      for (int i = 0; i < footer.rowGroups().size(); i++) {
        RowGroup group = footer.rowGroups().get(i);
        if (group.numRows() > 0) {
          groups.add(new GroupPlace(i, group.numRows(), middle(group)));
        }
      }
      return new FilePlan(
          name, opener, input.identity(), reader.getFileSchema(), List.copyOf(groups));
    } catch (ParquetException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      throw failed(name, e);
    }
  }

  /** Computes as Hardwood does the point by which a range of bytes selects the group. */
  private static long middle(RowGroup group) {
    long bytes = 0;
    for (ColumnChunk chunk : group.columns()) {
      bytes += chunk.metaData().totalCompressedSize();
    }
    return group.columns().isEmpty() ? 0 : group.columns().get(0).chunkStartOffset() + bytes / 2;
  }

  long rows() {
    return groups.stream().mapToLong(GroupPlace::rows).sum();
  }

  /** Requires that the file is the one of this plan. */
  void requireSame(SourceInput opened) {
    if (!opened.identity().equals(identity)) {
      throw new ParquetException(
          Problem.CHANGED, name + " has changed since its footer was read; read it again");
    }
  }

  /** Returns the exception for a failure of Hardwood or of a source. */
  static ParquetException failed(String place, Throwable failure) {
    boolean isCodec = false;
    String reason = ParquetException.reason(failure);
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof ParquetException known) {
        return known;
      }
      isCodec |= cause instanceof UnsupportedOperationException;
      String own = ParquetException.reason(cause);
      reason += reason.contains(own) ? "" : ": " + own;
    }
    return new ParquetException(
        isCodec ? Problem.CODEC : Problem.FILE, "%s: %s".formatted(place, reason), failure);
  }
}
