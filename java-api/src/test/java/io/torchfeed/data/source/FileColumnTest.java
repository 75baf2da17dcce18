// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.RowFiles;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.ByteOrder;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FileColumnTest {
  private final Path folder;

  FileColumnTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private Path file(byte... bytes) {
    return RowFiles.write(folder.resolve("rows"), bytes);
  }

  @Nested
  class Idx {
    @Test
    void theHeaderIsParsed() {
      FileColumn column = FileColumn.idx(file(RowFiles.idx(0x0D, new byte[5 * 6 * 4], 5, 2, 3)));
      assertThat(column.rows()).isEqualTo(5);
      assertThat(column.row()).isEqualTo(RowSpec.of(DType.FLOAT32, 2, 3));
      assertThat(column)
          .hasToString("5 rows of float32 [2, 3], big-endian in " + folder.resolve("rows"));
    }

    @Test
    void anEmptyFileIsAllowed() {
      FileColumn column = FileColumn.idx(file(RowFiles.idx(0x08, new byte[0], 0, 28, 28)));
      assertThat(column.rows()).isZero();
      assertThat(column.row()).isEqualTo(RowSpec.of(DType.UINT8, 28, 28));
    }

    @ParameterizedTest
    @ValueSource(strings = {"f4", "=f4", "|f4", "<f4"})
    void aDtypeOfTheMachinesOrderIsReadAsNumpyReadsIt(String descr) {
      String header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (3,)}";
      FileColumn column = FileColumn.npy(file(RowFiles.npy(1, header, 12)));
      assertThat(column.row()).isEqualTo(RowSpec.of(DType.FLOAT32));
    }

    @ParameterizedTest
    @CsvSource({"-1,incomplete", "1,longer than the array"})
    void aFileOfTheWrongLengthIsRefused(int more, String what) {
      byte[] bytes = RowFiles.idx(0x0B, new byte[5 * 6 * 2 + more], 5, 2, 3);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.idx(file(bytes)))
          .withMessage(
              "%s must have 76 bytes, a header of 16 and int16 [5, 2, 3], got %d: it is %s",
              folder.resolve("rows"), 76 + more, what);
    }

    @Test
    void sizesAreUnsigned() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.idx(file(RowFiles.idx(0x08, new byte[0], -1))))
          .withMessageContaining("must have 4294967303 bytes");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.idx(file(RowFiles.idx(0x08, new byte[0], 1, -1, -1, -1))))
          .withMessageContaining("must be shorter than 2^63 bytes");
    }

    @Test
    void aWrongMagicNumberIsRefused() {
      String rule = folder.resolve("rows") + " must begin with the magic of an idx file, 00 00 ";
      for (byte[] bytes :
          new byte[][] {{}, {0, 0, 8}, {0, 1, 8, 1}, {1, 0, 8, 1}, {0, 0, 0x0A, 1}, {0, 0, 0, 1}}) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> FileColumn.idx(file(bytes)))
            .withMessageStartingWith(rule);
      }
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.idx(file()))
          .withMessageEndingWith("got an empty file");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.idx(file((byte) 0x1f, (byte) 0x8b, (byte) 8, (byte) 0)))
          .withMessageEndingWith("got 1f 8b 08 00, a gzip file; unpack it first");
    }

    @Test
    void aTruncatedHeaderIsRefused() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.idx(file((byte) 0, (byte) 0, (byte) 8, (byte) 3)))
          .withMessageEndingWith("the sizes of an idx file, bytes 4 to 16, got a file of 4 bytes");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.idx(file((byte) 0, (byte) 0, (byte) 8, (byte) 0)))
          .withMessageEndingWith(
              "must have a dimension of rows, got an idx file without dimensions");
    }
  }

  @Nested
  class Npy {
    private void assertRefused(byte[] bytes, String phrase) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.npy(file(bytes)))
          .withMessageStartingWith(folder.resolve("rows") + " must ")
          .withMessageContaining(phrase);
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (1,%s), }",
          "%s"
        })
    void aLongHeaderIsAbbreviatedInTheMessage(String header) {
      String digits = ",1".repeat(100_000).substring(1);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.npy(file(RowFiles.npy(2, header.formatted(digits), 24))))
          .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(1000).contains("…"));
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
          "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}",
          " { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 2L , 3L , ) } \n",
        })
    void equivalentHeadersAreAccepted(String header) {
      for (int version = 1; version <= 3; version++) {
        FileColumn column = FileColumn.npy(file(RowFiles.npy(version, header, 24)));
        assertThat(column.rows()).isEqualTo(2);
        assertThat(column.row()).isEqualTo(RowSpec.of(DType.FLOAT32, 3));
      }
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "",
          "{",
          "{}",
          "[]",
          "{'descr': '<f4', 'fortran_order': False}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (3}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
          "{'descr': '<f4', 'fortran_order': 'no', 'shape': (3,)}",
          "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': ''}",
          "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x",
          "{'descr': '<f4, 'fortran_order': False, 'shape': (3,)}",
        })
    void aMalformedHeaderIsRefused(String header) {
      assertRefused(
          RowFiles.npy(1, header, 12), "an npy header with descr, fortran_order and shape");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "<", "4", "=", "<<f4", "<f16", "<U3", "|S5", "<m8", "|V4"})
    void aDtypeWithoutATensorEquivalentIsRefused(String descr) {
      assertRefused(
          RowFiles.npy(1, "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (3,)}", 12),
          "got '" + descr + "'; convert it with numpy's astype");
    }

    @ParameterizedTest
    @CsvSource({"-1,incomplete", "1,longer than the array"})
    void aFileOfTheWrongLengthIsRefused(int more, String what) {
      String header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2)}";
      assertRefused(
          RowFiles.npy(1, header, 48 + more),
          "and float64 [3, 2], got %d: it is %s".formatted(10 + header.length() + 48 + more, what));
    }

    @Test
    void aShapeTooLargeForAnyMemoryIsRefused() {
      assertRefused(
          RowFiles.npy(
              1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", 0),
          "shorter than 2^63 bytes");
    }

    @Test
    void otherFilesAreRefused() {
      assertRefused(new byte[0], "an empty file");
      assertRefused("PK\3\4 rows.npy".getBytes(US_ASCII), "or one to be unpacked first");
      assertRefused(RowFiles.npy(4, "", 0), "version 1 to 3, got version 4");
      assertRefused(RowFiles.npy(0, "", 0), "version 1 to 3, got version 0");
      byte[] cutOff = RowFiles.npy(2, "{}", 0);
      assertRefused(Arrays.copyOf(cutOff, 13), "the npy header, bytes 12 to 14");
      assertRefused(Arrays.copyOf(cutOff, 11), "the length of the npy header");
      cutOff[11] = 1;
      assertRefused(cutOff, "at most 1048576 bytes, got one of 16777218");
    }
  }

  @Nested
  class Raw {
    @ParameterizedTest
    @CsvSource({
      "0,24,48,2",
      "0,24,0,0",
      "8,24,56,2",
      "0,40,80,2",
      "0,40,64,2",
      "16,40,40,1",
    })
    void theFileHoldsAsManyRowsAsFit(long offset, long stride, int fileBytes, long rows) {
      RowLayout layout =
          RowLayout.of(DType.FLOAT32, 2, 3).withOffsetBytes(offset).withStrideBytes(stride);
      FileColumn column = FileColumn.raw(layout, file(new byte[fileBytes]));
      assertThat(column.rows()).isEqualTo(rows);
    }

    @ParameterizedTest
    @CsvSource({"0,24,47", "8,24,7", "0,40,41", "0,40,63", "16,40,79"})
    void aFileThatEndsWithinARowIsRefused(long offset, long stride, int fileBytes) {
      RowLayout layout =
          RowLayout.of(DType.FLOAT32, 2, 3).withOffsetBytes(offset).withStrideBytes(stride);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.raw(layout, file(new byte[fileBytes])))
          .withMessage(
              "%s must hold whole rows of 24 bytes, one every %d bytes from byte %d on, got a file"
                  + " of %d bytes",
              folder.resolve("rows"), stride, offset, fileBytes);
    }

    @Test
    void rowsMayBeLargerThanThoseOfASlab() throws IOException {
      Path sparse = file();
      try (RandomAccessFile file = new RandomAccessFile(sparse.toFile(), "rw")) {
        file.setLength(2 * (3L << 30));
      }
      FileColumn column = FileColumn.raw(RowLayout.of(DType.FLOAT32, 3, 1 << 28), sparse);
      assertThat(column.rows()).isEqualTo(2);
      assertThat(column.row().bytes()).isEqualTo(3L << 30);
    }

    @Test
    void theDtypeMayComeFromATensor() {
      ScalarType dtype = torch.zeros(1).to(ScalarType.Short).scalar_type(); // a distinct object
      FileColumn column = FileColumn.raw(RowLayout.of(DType.of(dtype)), file(new byte[6]));
      assertThat(column.rows()).isEqualTo(3);
      assertThat(column.row()).isEqualTo(RowSpec.of(DType.INT16));
    }

    @Test
    void invalidLayoutsAreRefused() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.raw(RowLayout.of(DType.FLOAT32, 2, 0), file()))
          .withMessage(
              "a row must have at least one byte, since the number of rows follows from the size of"
                  + " the file, got float32 [2, 0]");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> RowLayout.of(DType.FLOAT32, 1L << 40, 1L << 40))
          .withMessageStartingWith("a row must have fewer than 2^63 bytes");
      RowLayout layout = RowLayout.of(DType.FLOAT32, 2);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> layout.withOffsetBytes(-1))
          .withMessage("offsetBytes must be at least 0, got -1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> layout.withStrideBytes(0))
          .withMessage("strideBytes must be at least 1, got 0");
    }

    @Test
    void aLayoutDescribesItself() {
      assertThat(
              RowLayout.of(DType.FLOAT32, 2)
                  .withOffsetBytes(4)
                  .withStrideBytes(9)
                  .withOrder(ByteOrder.BIG_ENDIAN))
          .hasToString(
              "RowLayout[row=float32 [2], offsetBytes=4, strideBytes=9, order=BIG_ENDIAN]");
    }
  }

  @Test
  void filesOfOneColumnMustMatch() {
    Path first = RowFiles.write(folder.resolve("a"), RowFiles.idx(0x08, new byte[6], 2, 3));
    Path second = RowFiles.write(folder.resolve("b"), RowFiles.idx(0x08, new byte[4], 2, 2));
    Path third = RowFiles.write(folder.resolve("c"), RowFiles.idx(0x09, new byte[6], 2, 3));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FileColumn.idx(first, second))
        .withMessage("%s must have rows like %s (uint8 [3]), got uint8 [2]", second, first);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FileColumn.idx(first, first, third))
        .withMessage("%s must have rows like %s (uint8 [3]), got int8 [3]", third, first);
    assertThatIllegalArgumentException()
        .isThrownBy(FileColumn::idx)
        .withMessage("a column needs at least one file");
    assertThat(FileColumn.idx(first, first))
        .hasToString("4 rows of uint8 [3] in " + first + " and 1 more");
  }

  @Test
  void aMissingFileIsReported() {
    Path absent = folder.resolve("absent");
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> FileColumn.idx(absent))
        .withMessage("cannot read rows from " + absent + ": no such file or directory")
        .withCauseInstanceOf(NoSuchFileException.class);
  }

  @Test
  void aDirectoryIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FileColumn.npy(folder))
        .withMessage(folder + " must be a regular file, got a directory");
  }

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void aDeviceIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FileColumn.raw(RowLayout.of(DType.UINT8), Path.of("/dev/zero")))
        .withMessage("/dev/zero must be a regular file, got a pipe, a socket or a device");
  }

  @Test
  void aFileInsideAnArchiveIsRefused() throws IOException {
    URI archive = URI.create("jar:" + folder.resolve("a.zip").toUri());
    try (FileSystem zip = FileSystems.newFileSystem(archive, Map.of("create", "true"))) {
      Path inside = Files.write(zip.getPath("/rows"), new byte[3]);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> FileColumn.raw(RowLayout.of(DType.UINT8), inside))
          .withMessageStartingWith("/rows must be a file of the default file system, got one of ");
    }
  }
}
