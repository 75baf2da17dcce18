// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.hardwood.HardwoodContext;
import dev.hardwood.metadata.ColumnChunk;
import dev.hardwood.metadata.FileMetaData;
import dev.hardwood.metadata.RowGroup;
import dev.hardwood.reader.ParquetFileReader;
import dev.hardwood.schema.FileSchema;
import io.torchfeed.parquet.ParquetException.Problem;
import java.io.IOException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Supplier;

/**
 * The contents of a file, from its footer.
 *
 * @param name of the file
 * @param input makes an input of it
 * @param content a hash of the size and footer
 * @param version of a source, or the time of the last change
 * @param schema of its columns
 * @param groups its row groups with rows, as an unmodifiable list
 */
record FilePlan(
    String name,
    Supplier<SourceInput> input,
    String content,
    String version,
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
          name,
          opener,
          input.content(),
          input.version(),
          reader.getFileSchema(),
          List.copyOf(groups));
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

  /** Returns a hash that other files of its name do not have. */
  String identity() {
    MessageDigest hash = SourceInput.sha256();
    hash.update((content + version).getBytes(UTF_8));
    return HexFormat.of().formatHex(hash.digest());
  }

  /**
   * Requires that the file is the one of this plan. The version of a source is known without a
   * request; otherwise the footer is read again.
   */
  void requireSame(SourceInput opened) {
    if (!opened.version().equals(version)
        || (!opened.isVersioned() && !opened.content().equals(content))) {
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
