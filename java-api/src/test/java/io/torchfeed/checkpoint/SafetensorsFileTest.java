// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.testing.GoldenLine;
import io.torchfeed.testing.LeakCheck;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests against the files of Python's safetensors, and against malformed ones. */
@ExtendWith(LeakCheck.class)
class SafetensorsFileTest {
  private final Path path;

  SafetensorsFileTest(@TempDir Path folder) {
    path = folder.resolve("file.safetensors");
  }

  private static byte[] golden() throws IOException {
    try (InputStream in =
        requireNonNull(
            SafetensorsFileTest.class.getResourceAsStream("/golden/all_dtypes.safetensors"))) {
      return in.readAllBytes();
    }
  }

  private static byte[] bytes(Tensor tensor) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    TensorBytes.forEach(
        tensor,
        piece -> {
          byte[] copy = new byte[piece.remaining()];
          piece.get(copy);
          all.writeBytes(copy);
        });
    return all.toByteArray();
  }

  @Test
  void aFileOfPythonHasTheNamesShapesAndBytesOfItsTensors() throws IOException {
    Files.write(path, golden());
    List<String> lines = GoldenLine.read("all_dtypes.txt");
    try (SafetensorsFile file = SafetensorsFile.open(path)) {
      assertThat(file.metadata()).isEqualTo(Map.of("format", "pt"));
      assertThat(file.names()).hasSize(lines.size());
      for (String line : lines) {
        String[] fields = line.split("\t", -1);
        try (Tensor tensor = file.read(fields[0])) {
          assertThat(Arrays.toString(tensor.sizes().vec().get())).isEqualTo(fields[1]);
          assertThat(HexFormat.of().formatHex(bytes(tensor))).as(line).isEqualTo(fields[2]);
        }
      }
    }
  }

  @Test
  void tensorsOfAFileOfPythonAreWrittenAsTheSameBytes() throws IOException {
    Files.write(path, golden());
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    try (SafetensorsFile file = SafetensorsFile.open(path)) {
      file.names().forEach(name -> tensors.put(name, file.read(name)));
      SafetensorsFile.write(path, tensors, file.metadata());
    }
    tensors.values().forEach(Tensor::close);
    assertThat(path).hasBinaryContent(golden());
  }

  @Test
  void aTensorWithStridesIsWrittenInItsOrder() throws IOException {
    Tensor numbers = torch.arange(new Scalar(6)).view(2, 3);
    SafetensorsFile.write(path, Map.of("t", numbers.t(), "part", numbers.select(1, 1)), Map.of());
    try (SafetensorsFile file = SafetensorsFile.open(path);
        Tensor transposed = file.read("t");
        Tensor part = file.read("part")) {
      assertThat(transposed.equal(numbers.t())).isTrue();
      assertThat(part.equal(numbers.select(1, 1))).isTrue();
    }
  }

  @Test
  void aTensorOfManyPiecesComesBack() throws IOException {
    Tensor numbers = torch.randn(3_000_001);
    SafetensorsFile.write(path, Map.of("numbers", numbers), Map.of());
    try (SafetensorsFile file = SafetensorsFile.open(path);
        Tensor read = file.read("numbers")) {
      assertThat(read.equal(numbers)).isTrue();
    }
  }

  @Test
  void aTensorOfMoreThanAnArrayIsReadWithoutTheRest() throws IOException {
    // a sparse file: its 3 GiB of zeros take no disk
    long size = 3L << 30;
    byte[] header =
        file(
            "{'big':{'dtype':'U8','shape':[%d],'data_offsets':[0,%d]},".formatted(size, size)
                + "'last':{'dtype':'I16','shape':[],'data_offsets':[%d,%d]}}"
                    .formatted(size, size + 2));
    Files.write(path, header);
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.wrap(new byte[] {7, 1}), header.length + size);
    }
    try (SafetensorsFile file = SafetensorsFile.open(path);
        Tensor last = file.read("last")) {
      assertThat(last.item_short()).isEqualTo((short) 263);
    }
  }

  @Test
  void tensorsThatDoNotFitTheFormatAreRefused() {
    Tensor one = torch.ones(1);
    assertRefused(Map.of("none", new Tensor()), "none is undefined");
    assertRefused(Map.of("__metadata__", one), "reserves");
    assertRefused(Map.of("sparse", one.to_sparse()), "must be dense");
    assertRefused(
        Map.of("half", torch.ones(new long[] {1}, new TensorOptions(ScalarType.ComplexDouble))),
        "COMPLEX128, which the format does not know");
    assertRefused(Map.of("\ud800", one), "surrogate");
    assertThat(path).doesNotExist();
  }

  private void assertRefused(Map<String, Tensor> tensors, String message) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> SafetensorsFile.write(path, tensors, Map.of()))
        .withMessageContaining(message);
  }

  /** Returns a file with a header and no more. */
  private static byte[] file(String header) {
    byte[] json = header.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(8 + json.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(json.length)
        .put(json)
        .array();
  }

  private void assertMalformed(byte[] content, String message) throws IOException {
    Files.write(path, content);
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> SafetensorsFile.open(path).close())
        .withMessageStartingWith(path + ": ")
        .withMessageContaining(message)
        .satisfies(e -> assertThat(e.path()).isEqualTo(path))
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.DAMAGED));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "[] | not a JSON object",
        "{'a':{'shape':[}} | no JSON",
        "{} {} | something after",
        "{'a':1} | value of a is not an object",
        "{'a':{}} | a lacks one of dtype, shape and data_offsets",
        "{'a':{'dtype':1}} | dtype of a is no string",
        "{'a':{'dtype':'F4'}} | dtype F4 of a is not one that torchfeed reads",
        "{'a':{'dtype':'F8_E4M3FNUZ'}} | convert it to one of BOOL, U8, I8, F8_E5M2, F8_E4M3, F8",
        "{'a':{'strides':[]}} | field strides of a is unknown",
        "{'a':{'shape':3}} | shape of a is no array",
        "{'a':{'shape':[1.5]}} | whole numbers",
        "{'a':{'shape':[-1]}} | negative number -1",
        "{'a':{'shape':[99999999999999999999]}} | no JSON",
        "{'a':{'dtype':'U8','shape':[],'data_offsets':[0]}} | not two numbers",
        "{'a':{'dtype':'U8','shape':[],'data_offsets':[0,1,2]}} | at most 2 whole numbers",
        "{'a':{'dtype':'U8','shape':[2],'data_offsets':[0,1]}} | 2 bytes by its shape",
        "{'a':{'dtype':'U8','shape':[0],'data_offsets':[1,0]}} | 0 bytes by its shape",
        "{'a':{'dtype':'F32','shape':[4611686018427387904],'data_offsets':[0,0]}} | too large",
        "{'a':{'dtype':'U8','shape':[4294967296,0,4294967296],'data_offsets':[0,0]}} | too large",
        "{'a':{'dtype':'U8','shape':[1],'data_offsets':[0,1]}} | the file has 0 after its header",
        "{'a':{'dtype':'U8','shape':[0],'data_offsets':[1,1]}} | begin at 1, after the end",
        "{'a':{'dtype':'U8','shape':[2],'data_offsets':[0,2]},"
            + "'b':{'dtype':'U8','shape':[2],'data_offsets':[1,3]}} | begin at 1, before the end",
        "{'a':{'dtype':'U8','shape':[0],'data_offsets':[0,0]},"
            + "'a':{'dtype':'U8','shape':[0],'data_offsets':[0,0]}} | Duplicate field 'a'",
        "{'__metadata__':3} | __metadata__ is not an object",
        "{'__metadata__':{'a':3}} | not a string",
      })
  void aMalformedHeaderIsRefused(String header, String message) throws IOException {
    assertMalformed(file(header), message);
  }

  @Test
  void aHeaderOfManyDimensionsOrAnotherEncodingIsRefused() throws IOException {
    assertMalformed(file("{'a':{'shape':[" + "1,".repeat(64) + "1]}}"), "at most 64 whole numbers");
    byte[] invalid = file("{'a?':{}}");
    invalid[8 + 3] = (byte) 0xC3; // begins a character that the quote does not end
    assertMalformed(invalid, "not in UTF-8");
    byte[] utf16 = "{\"a\":{}}".getBytes(StandardCharsets.UTF_16BE);
    byte[] content = Arrays.copyOf(file(" ".repeat(utf16.length)), 8 + utf16.length);
    System.arraycopy(utf16, 0, content, 8, utf16.length);
    assertMalformed(content, "no JSON");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      ignoreLeadingAndTrailingWhitespace = false,
      value = {
        "version https://git-lfs.github.com/spec/v1|a Git LFS pointer in the place of the file",
        "<html><title>503</title>|a web page in the place of the file",
        "<?xml version=\"1.0\"?><Error>|an XML document in the place of the file",
        "PK\3\4\24\0\0\10|(open it by TorchFile)",
        "\u0080\4K\1.|as torch.save wrote before 1.6; open it by TorchFile",
        "\u0093NUMPY\1\0|an npy file of numpy.save",
        "\u001f\u008b\10\0\0\0\0\0|a gzip file; unpack it first",
        "GGUF\3\0\0\0|a GGUF file",
        "# xet version 0|a Git-Xet pointer in the place of the file",
        "Entry not found|a text that begins with \"Entry not found\", for example",
        "\u00ff\u00d8\u00ff\u00e0|a JPEG image",
        "%PDF-1.7|a PDF document",
      })
  void otherContentIsNamedWithTheCure(String begin, String message) throws IOException {
    byte[] bytes = (begin + " ".repeat(8)).getBytes(StandardCharsets.ISO_8859_1);
    assertMalformed(bytes, "it is no safetensors file, but");
    assertMalformed(bytes, message);
    assertMalformed(
        "{\"error\":\"x\"}".getBytes(StandardCharsets.UTF_8), "open an index by IndexedTensors");
    assertMalformed(new byte[0], "an empty file");
  }

  @Test
  void aFileThatEndsEarlyIsRefused() throws IOException {
    byte[] whole = golden();
    for (int length : new int[] {0, 7, 8, 100, whole.length - 361, whole.length - 1}) {
      assertMalformed(Arrays.copyOf(whole, length), "");
    }
    assertMalformed(Arrays.copyOf(whole, whole.length + 1), "the file has 361 after its header");
    assertMalformed(new byte[] {-1, -1, -1, -1, -1, -1, -1, -1}, "got 18446744073709551615");
    assertMalformed(new byte[] {1, -31, -11, 5, 0, 0, 0, 0}, "at most 100000000 bytes");
  }

  @Test
  void aMissingFileAFolderAndAClosedFileAreTold() throws IOException {
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> SafetensorsFile.open(path))
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.MISSING));
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> SafetensorsFile.open(requireNonNull(path.getParent())))
        .withMessageContaining("got a directory")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNREADABLE));
    SafetensorsFile.write(path, Map.of("a", torch.ones(1)), Map.of());
    SafetensorsFile file = SafetensorsFile.open(path);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> file.read("b"))
        .withMessageContaining("has no tensor b");
    file.close();
    file.close();
    assertThatIllegalStateException().isThrownBy(() -> file.read("a"));
  }

  @Test
  void aFileThatCannotBeWrittenIsToldAndTheOldOneStays() throws IOException {
    Path folder = requireNonNull(path.getParent());
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(
            () ->
                SafetensorsFile.write(
                    folder.resolve("none").resolve("file"), Map.of("a", torch.ones(1)), Map.of()))
        .withMessageContaining("cannot be written")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNWRITABLE));
  }
}
