// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.FileColumns;
import io.torchfeed.internal.PathBytes;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.bytedeco.javacpp.BytePointer;

/**
 * A column of a {@link FileDataset}: samples of one dtype and shape in one file, or in several
 * files whose samples are concatenated in the given order.
 *
 * <p>The factories read the headers and check them against the sizes of the files; a file with
 * missing or extra bytes is rejected. Numbers in a byte order other than the machine's are
 * converted when a batch is read. Immutable; it keeps no file open.
 */
public final class FileColumn {
  private final List<RowFile> files;
  private final long rows;

  private FileColumn(List<RowFile> files, long rows) {
    this.files = files;
    this.rows = rows;
  }

  /**
   * Returns a column of the rows of idx files, the format of MNIST: uint8, int8, int16, int32,
   * float32 or float64, with the rows as the first dimension.
   *
   * @param files uncompressed idx files of one dtype and sample shape, at least one
   * @return the column
   * @throws IllegalArgumentException if there is no file, or one is not an idx file, is not as long
   *     as its header declares, or differs from the first
   * @throws java.io.UncheckedIOException if a file cannot be opened or read
   */
  public static FileColumn idx(Path... files) {
    requireNonNull(files, "files");
    return of(IdxFormat::read, files);
  }

  /**
   * Returns a column of the rows of npy files as {@code numpy.save} writes them: versions 1.0 to
   * 3.0, in C order (also called Fortran order, where both are the same), boolean, (unsigned)
   * integer, floating point or complex, with the rows as the first dimension.
   *
   * @param files npy files of one dtype and sample shape, at least one
   * @return the column
   * @throws IllegalArgumentException if there is no file, or one is not an npy file, has another
   *     dtype, is in Fortran order, has no dimensions, is not as long as its header declares, or
   *     differs from the first
   * @throws java.io.UncheckedIOException if a file cannot be opened or read
   */
  public static FileColumn npy(Path... files) {
    requireNonNull(files, "files");
    return of(NpyFormat::read, files);
  }

  /**
   * Returns a column of the rows of an array in npz files as {@code numpy.savez} writes them. A
   * file of {@code numpy.savez_compressed} is read by {@link NumpyFile} instead.
   *
   * @param array the name of the array, the same in each file
   * @param files npz files, at least one
   * @return the column
   * @throws IllegalArgumentException if there is no file, or one is not an npz file, does not have
   *     the array or has it compressed, or as in {@link #npy}
   * @throws java.io.UncheckedIOException if a file cannot be opened or read
   */
  public static FileColumn npz(String array, Path... files) {
    requireNonNull(array, "array");
    requireNonNull(files, "files");
    return of(file -> NpyFormat.read(ZipMember.of(file, array + ".npy").stored(file)), files);
  }

  /**
   * Returns a column of the rows of files whose layout the caller knows; a file holds as many rows
   * as fit. Behind the last of rows that overlap, fewer bytes than a stride are left out.
   *
   * @param layout the layout of the samples, the same in each file
   * @param files at least one
   * @return the column
   * @throws IllegalArgumentException if there is no file, one ends within a sample that does not
   *     overlap the one before, or a sample has no bytes
   * @throws java.io.UncheckedIOException if a file cannot be opened or read
   */
  public static FileColumn raw(RowLayout layout, Path... files) {
    requireNonNull(files, "files");
    if (requireNonNull(layout, "layout").row().bytes() == 0) {
      throw new IllegalArgumentException(
          "a row must have at least one byte, since the number of rows follows from the size of the"
              + " file, got "
              + layout.row());
    }
    return of(file -> RowFile.raw(file, layout), files);
  }

  private static FileColumn of(Function<FileHead, RowFile> reader, Path... files) {
    if (files.length == 0) {
      throw new IllegalArgumentException("a column needs at least one file");
    }
    List<RowFile> read = new ArrayList<>();
    long rows = 0;
    for (Path path : files) {
      RowFile file = FileHead.read(requireNonNull(path, "file"), reader);
      RowFile first = read.isEmpty() ? file : read.get(0);
      if (!first.continuesIn(file)) {
        throw new IllegalArgumentException(
            "%s must have rows like %s (%s), got %s"
                .formatted(path, first.path(), first.kind(), file.kind()));
      }
      read.add(file);
      rows = Math.addExact(rows, file.rows());
    }
    return new FileColumn(List.copyOf(read), rows);
  }

  /**
   * Returns the number of samples in all files.
   *
   * @return the number of rows, at least 0
   */
  public long rows() {
    return rows;
  }

  /**
   * Returns the dtype and shape of one sample; a batch of {@code B} samples is a tensor {@code [B,
   * shape...]}.
   *
   * @return the row
   */
  public RowSpec row() {
    return files.get(0).layout().row();
  }

  /** Opens the files in native code. */
  void openIn(FileColumns columns) {
    DType dtype = row().dtype();
    long[] shape = row().shape().stream().mapToLong(Long::longValue).toArray();
    boolean foreign = files.get(0).layout().order() != ByteOrder.nativeOrder();
    columns.add_column(
        dtype.scalarType().value, shape, shape.length, foreign ? dtype.unitBytes() : 1);
    for (RowFile file : files) {
      try (BytePointer name = new BytePointer(PathBytes.of(file.path()))) {
        RowLayout layout = file.layout();
        columns.add_file(name, layout.offsetBytes(), layout.strideBytes(), file.rows());
      }
    }
  }

  @Override
  public String toString() {
    RowFile first = files.get(0);
    return "%d rows of %s in %s%s"
        .formatted(
            rows,
            first.kind(),
            first.path(),
            files.size() == 1 ? "" : " and " + (files.size() - 1) + " more");
  }
}
