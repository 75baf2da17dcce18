// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.RowFiles;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class FileDatasetTest {
  private static final int SIZE = 61;
  private static final int[] SHAPE = {SIZE, 2, 3};
  private final Path folder;

  FileDatasetTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static Tensor random(DType dtype, long... shape) {
    long[] bytes = shape.clone();
    bytes[bytes.length - 1] *= dtype.bytes();
    Tensor numbers = torch.randint(dtype == DType.BOOL ? 2 : 256, bytes).to(ScalarType.Byte);
    return numbers.view(dtype.scalarType());
  }

  private Path write(String name, byte... bytes) {
    return RowFiles.write(folder.resolve(name), bytes);
  }

  private static Path golden(String name) {
    try {
      return Path.of(
          java.util.Objects.requireNonNull(
                  FileDatasetTest.class.getResource("/golden/npy/" + name), name)
              .toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Asserts that the batches of both are equal, in random orders, with and without workers. */
  private static void assertEqualRows(FileDataset files, Tensor... tensors) {
    Sampler sampler = DistributedRandomSampler.of(files.size(), Part.whole());
    for (int workers : new int[] {0, 2}) {
      try (TensorDataset data = TensorDataset.of(tensors);
          DataLoader expected =
              DataLoader.over(data).sampler(sampler).batchSize(7).workers(0).build();
          DataLoader loader =
              DataLoader.over(files).sampler(sampler).batchSize(7).workers(workers).build()) {
        assertThat(files.columns()).isEqualTo(data.columns());
        for (long epoch = 0; epoch < 3; epoch++) {
          try (Batches theirs = expected.epoch(epoch);
              Batches ours = loader.epoch(epoch)) {
            for (Batch batch : ours) {
              Batch other = theirs.next();
              assertThat(batch.indices()).isEqualTo(other.indices());
              for (int i = 0; i < tensors.length; i++) {
                assertThat(batch.tensor(i).scalar_type().intern())
                    .isEqualTo(other.tensor(i).scalar_type().intern());
                assertThat(RowFiles.bytesOf(batch.tensor(i)))
                    .isEqualTo(RowFiles.bytesOf(other.tensor(i)));
              }
            }
            assertThat(theirs.hasNext()).isFalse();
          }
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"UINT8,8", "INT8,9", "INT16,11", "INT32,12", "FLOAT32,13", "FLOAT64,14"})
  void rowsOfAnIdxFileEqualTheTensor(DType dtype, int code) {
    Tensor tensor = random(dtype, SIZE, 2, 3);
    byte[] bigEndian = RowFiles.reversed(RowFiles.bytesOf(tensor), (int) tensor.element_size());
    Path file = write("rows", RowFiles.idx(code, bigEndian, SHAPE));
    try (FileDataset files = FileDataset.of(FileColumn.idx(file))) {
      assertEqualRows(files, tensor);
    }
  }

  @ParameterizedTest
  @EnumSource
  void rowsOfARawFileEqualTheTensor(DType dtype) {
    Tensor tensor = random(dtype, SIZE, 2, 3);
    byte[] bytes = RowFiles.bytesOf(tensor);
    int number =
        tensor.is_complex() ? (int) tensor.element_size() / 2 : (int) tensor.element_size();
    byte[] reversed = RowFiles.reversed(bytes, number);
    RowLayout layout = RowLayout.of(dtype, 2, 3);
    try (FileDataset files =
        FileDataset.of(
            FileColumn.raw(layout, write("little", bytes)),
            FileColumn.raw(layout.withOrder(ByteOrder.BIG_ENDIAN), write("big", reversed)))) {
      assertEqualRows(files, tensor, tensor);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "byte_b1,BOOL",
    "byte_u1,UINT8",
    "byte_i1,INT8",
    "little_i2,INT16",
    "little_i4,INT32",
    "little_i8,INT64",
    "little_u2,UINT16",
    "little_u4,UINT32",
    "little_u8,UINT64",
    "little_f2,FLOAT16",
    "little_f4,FLOAT32",
    "little_f8,FLOAT64",
    "little_c8,COMPLEX64",
    "little_c16,COMPLEX128",
    "big_i2,INT16",
    "big_i4,INT32",
    "big_u8,UINT64",
    "big_f2,FLOAT16",
    "big_f4,FLOAT32",
    "big_f8,FLOAT64",
    "big_c8,COMPLEX64",
    "version_2,FLOAT32",
    "version_3,FLOAT32",
  })
  void rowsOfAnNpyFileEqualWhatNumpyWrote(String name, DType dtype) {
    Tensor k = torch.arange(new Scalar(42)).view(7, 2, 3);
    Tensor numbers = k.mul(new Scalar(3)).remainder(new Scalar(101));
    Tensor expected;
    if (dtype == DType.BOOL) {
      expected = numbers.remainder(new Scalar(2)).to(ScalarType.Bool);
    } else if (dtype == DType.COMPLEX64 || dtype == DType.COMPLEX128) {
      ScalarType part = dtype == DType.COMPLEX64 ? ScalarType.Float : ScalarType.Double;
      expected =
          torch.view_as_complex(
              torch.stack(new TensorVector(numbers.to(part), k.neg().to(part)), -1));
    } else {
      expected = numbers.to(dtype.scalarType());
    }
    FileColumn column = FileColumn.npy(golden(name + ".npy"));
    assertThat(column.row()).isEqualTo(RowSpec.of(dtype, 2, 3));
    try (FileDataset files = FileDataset.of(column)) {
      assertThat(files.size()).isEqualTo(7);
      assertEqualRows(files, expected);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"labels", "fortran_labels"})
  void rowsMayBeScalars(String name) {
    try (FileDataset files = FileDataset.of(FileColumn.npy(golden(name + ".npy")))) {
      assertThat(files.columns()).containsExactly(RowSpec.of(DType.INT64));
      assertEqualRows(files, torch.arange(new Scalar(7)));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "refused_fortran.npy,fortran_order: True; save numpy.ascontiguousarray of it",
    "refused_number.npy,an npy file of one number",
    "refused_text.npy,'got ''<U2'''",
    "refused_time.npy,'got ''<M8[D]'''",
    "refused_structured.npy,a structured one; save each of its fields as a file",
    "refused_object.npy,'got ''|O'''",
    "refused_archive.npz,numpy.savez (by FileColumn.npz or NumpyFile)",
  })
  void unsupportedNumpyFilesAreRefused(String name, String phrase) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FileColumn.npy(golden(name)))
        .withMessageStartingWith(golden(name) + " must ")
        .withMessageContaining(phrase);
  }

  @Test
  void anEmptyDatasetHasNoBatches() {
    try (FileDataset none = FileDataset.of(FileColumn.npy(golden("no_rows.npy")));
        DataLoader loader = DataLoader.over(none).batchSize(4).build();
        Batches batches = loader.epoch(0)) {
      assertThat(none.size()).isZero();
      assertThat(batches.hasNext()).isFalse();
    }
  }

  @Test
  void columnsAreReadTogether() {
    Tensor images = random(DType.UINT8, SIZE, 28, 28);
    Tensor labels = torch.arange(new Scalar(SIZE)).to(ScalarType.Byte);
    try (FileDataset files =
        FileDataset.of(
            FileColumn.idx(
                write("images", RowFiles.idx(0x08, RowFiles.bytesOf(images), SIZE, 28, 28))),
            FileColumn.idx(write("labels", RowFiles.idx(0x08, RowFiles.bytesOf(labels), SIZE))))) {
      assertEqualRows(files, images, labels);
    }
  }

  @Test
  void columnsMayShareAFile() {
    Tensor records = random(DType.UINT8, SIZE, 1 + 12);
    Path file = write("records", RowFiles.bytesOf(records));
    var labels = RowLayout.of(DType.UINT8).withStrideBytes(1 + 12);
    var images = RowLayout.of(DType.UINT8, 3, 2, 2).withOffsetBytes(1).withStrideBytes(1 + 12);
    try (FileDataset files =
        FileDataset.of(FileColumn.raw(images, file), FileColumn.raw(labels, file))) {
      assertEqualRows(files, records.narrow(1, 1, 12).reshape(SIZE, 3, 2, 2), records.select(1, 0));
    }
  }

  @Test
  void filesOfAColumnAreConcatenated() {
    Tensor tensor = random(DType.FLOAT32, SIZE, 5);
    FileColumn whole =
        FileColumn.raw(RowLayout.of(DType.FLOAT32, 5), write("whole", RowFiles.bytesOf(tensor)));
    FileColumn parts =
        FileColumn.raw(
            RowLayout.of(DType.FLOAT32, 5).withOffsetBytes(3),
            part("a", tensor, 0, 20),
            part("b", tensor, 20, 0),
            part("c", tensor, 20, 1),
            part("d", tensor, 21, SIZE - 21));
    assertThat(parts.rows()).isEqualTo(SIZE);
    try (FileDataset files = FileDataset.of(whole, parts)) {
      assertEqualRows(files, tensor, tensor);
    }
  }

  private Path part(String name, Tensor tensor, long first, long rows) {
    byte[] header = {9, 9, 9};
    byte[] elements = RowFiles.bytesOf(tensor.narrow(0, first, rows).contiguous());
    byte[] all = Arrays.copyOf(header, header.length + elements.length);
    System.arraycopy(elements, 0, all, header.length, elements.length);
    return write(name, all);
  }

  @Test
  void sequentialRowsAreReadInLargeBlocks() {
    Tensor tensor = random(DType.INT32, 3000, 1000); // 12 MB, longer than one read
    Path file = write("rows", RowFiles.bytesOf(tensor));
    try (FileDataset files = FileDataset.of(FileColumn.raw(RowLayout.of(DType.INT32, 1000), file));
        DataLoader loader = DataLoader.over(files).batchSize(3000).build();
        Batches batches = loader.epoch(0)) {
      assertThat(torch.equal(batches.next().tensor(0), tensor)).isTrue();
    }
  }

  @Test
  void aFileNameMayContainAnyCharacter() {
    Path file = write("Zeilen größer als 内存 ☃", new byte[] {7});
    try (FileDataset files = FileDataset.of(FileColumn.raw(RowLayout.of(DType.UINT8), file));
        DataLoader loader = DataLoader.over(files).build();
        Batches batches = loader.epoch(0)) {
      assertThat(RowFiles.bytesOf(batches.next().tensor(0))).containsExactly(7);
    }
  }

  @Test
  void columnsOfDifferentLengthsAreRefused() {
    FileColumn seven = FileColumn.npy(golden("labels.npy"));
    FileColumn none = FileColumn.npy(golden("no_rows.npy"));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FileDataset.of(seven, none))
        .withMessage(
            "column 1 must have as many rows as column 0 (7 rows of int64 [] in %s), got 0 rows of"
                + " float32 [2, 3] in %s",
            golden("labels.npy"), golden("no_rows.npy"));
    assertThatIllegalArgumentException()
        .isThrownBy(FileDataset::of)
        .withMessage("a FileDataset needs at least one column");
  }

  @Test
  void aFileModifiedSinceItsHeaderWasReadIsRefused() throws IOException {
    Path file = write("rows", new byte[100]);
    FileColumn column = FileColumn.raw(RowLayout.of(DType.UINT8, 10), file);
    RowFiles.truncate(file, 99);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FileDataset.of(column))
        .withMessage(
            "%s must hold 10 rows of 10 bytes, one every 10 bytes from byte 0 on, got a file of 99"
                + " bytes",
            file);
    Files.delete(file);
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> FileDataset.of(column))
        .withMessageEndingWith(file + " cannot be opened: No such file or directory");
    assertThat(RowFiles.openIn(folder)).isZero();
  }

  @Test
  void aDatasetDescribesItsColumns() {
    FileColumn labels = FileColumn.npy(golden("labels.npy"));
    try (FileDataset files = FileDataset.of(labels, labels)) {
      assertThat(files.size()).isEqualTo(7);
      assertThat(files.columns()).containsExactly(labels.row(), labels.row());
      assertThat(files.column(1)).isSameAs(labels);
      assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> files.column(2));
    }
  }
}
