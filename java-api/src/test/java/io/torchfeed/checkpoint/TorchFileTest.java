// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.memory.DType;
import io.torchfeed.testing.GoldenLine;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.TestPython;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests against the files of Python's {@code torch.save}, and against malformed ones. */
@ExtendWith(LeakCheck.class)
class TorchFileTest {
  private static final Path SCRIPT = Path.of("src", "test", "golden", "python_torch_files.py");

  private final Path folder;
  private final Path path;

  TorchFileTest(@TempDir Path folder) {
    this.folder = folder;
    path = folder.resolve("file.pt");
  }

  private static byte[] golden(String name) throws IOException {
    try (InputStream in =
        requireNonNull(
            TorchFileTest.class.getResourceAsStream("/golden/torch_files/" + name + ".pt"))) {
      return in.readAllBytes();
    }
  }

  private Path copy(String name) throws IOException {
    return Files.write(path, golden(name));
  }

  static String describe(Tensor tensor) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    try (Tensor dense = tensor.contiguous()) {
      TensorBytes.forEach(
          dense,
          piece -> {
            byte[] copy = new byte[piece.remaining()];
            piece.get(copy);
            all.writeBytes(copy);
          });
    }
    return String.join(
        "\t",
        TorchDTypes.globalOf(DType.of(tensor.scalar_type())),
        Arrays.toString(tensor.sizes().vec().get()),
        HexFormat.of().formatHex(all.toByteArray()));
  }

  /** Returns the tensors of a file, as the script of the golden ones describes them. */
  private static List<String> describe(String file, Path path) throws IOException {
    List<String> lines = new ArrayList<>();
    try (TorchFile open = TorchFile.open(path)) {
      for (String name : open.names()) {
        try (Tensor tensor = open.read(name)) {
          lines.add(file + "\t" + name + "\t" + describe(tensor));
        }
      }
    }
    return lines;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "all_dtypes",
        "net",
        "nested",
        "views",
        "alone",
        "legacy_all_dtypes",
        "legacy_net",
        "legacy_nested",
        "legacy_views",
        "legacy_alone",
        "legacy_python_2"
      })
  void filesOfPythonHaveTheNamesShapesAndBytesOfTheirTensors(String file) throws IOException {
    List<String> expected =
        GoldenLine.read("torch_files.txt").stream()
            .filter(line -> line.startsWith(file + "\t"))
            .toList();
    assertThat(describe(file, copy(file))).isNotEmpty().isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"nested", "nested_protocol_4", "legacy_nested", "legacy_nested_protocol_4"})
  void numbersAndTextsOfPythonAreValues(String file) throws IOException {
    try (TorchFile open = TorchFile.open(copy(file))) {
      assertThat(open.values())
          .containsEntry("epoch", 7L)
          .containsEntry("best", -0.5)
          .containsEntry("large", BigInteger.TWO.pow(70))
          .containsEntry("negative", -(1L << 40))
          .containsEntry("name", "näme")
          .containsEntry("done", true)
          .containsEntry("shape/1", 3L)
          .containsEntry("device", "cpu")
          .containsEntry("dtype", "torch.float16")
          .containsEntry("set/0", 4L)
          .containsEntry("pair/0", 1L)
          .containsEntry("optimizer/param_groups/0/lr", 0.125)
          .containsEntry("optimizer/param_groups/0/betas/1", 0.75)
          .containsEntry("optimizer/param_groups/0/params/5", 5L)
          .doesNotContainKey("nothing");
    }
  }

  @Test
  void aTensorKeepsItsStrides() throws IOException {
    try (TorchFile open = TorchFile.open(copy("views"));
        Tensor transposed = open.read("transposed");
        Tensor expanded = open.read("expanded")) {
      assertThat(transposed.strides().vec().get()).containsExactly(1, 12, 4);
      assertThat(expanded.strides().vec().get()).containsExactly(0, 0);
    }
  }

  @Test
  void aModuleGetsItsStateOfPython() throws IOException {
    SmallNet net = new SmallNet(8, 0);
    Map<String, Tensor> tensors = ModuleState.tensors(net);
    Map<String, Tensor> saved = new LinkedHashMap<>();
    tensors.forEach(
        (name, tensor) -> saved.put("model/" + name, torch.full_like(tensor, new Scalar(3))));
    TorchFile.write(path, saved);
    try (TorchFile open = TorchFile.open(path)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> open.copyTo("", net))
          .withMessageContaining("missing names")
          .withMessageContaining("unexpected names: model/");
      open.copyTo("model/", net);
    }
    tensors.forEach(
        (name, tensor) -> assertThat(tensor.equal(saved.get("model/" + name))).isTrue());
  }

  @Test
  void tensorsOfJavaComeBack() throws IOException {
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    try (TorchFile open = TorchFile.open(copy("all_dtypes"))) {
      open.names().forEach(name -> tensors.put(name, open.read(name)));
    }
    Tensor numbers = torch.randn(300_001, 2);
    tensors.put("many", numbers);
    tensors.put("strided", numbers.t());
    Path written = folder.resolve("written.pt");
    TorchFile.write(written, tensors);
    byte[] once = Files.readAllBytes(written);
    List<String> expected = new ArrayList<>();
    for (Map.Entry<String, Tensor> entry : tensors.entrySet()) {
      expected.add("java\t" + entry.getKey() + "\t" + describe(entry.getValue()));
    }
    assertThat(describe("java", written)).isEqualTo(expected);
    TorchFile.write(written, tensors);
    assertThat(written).hasBinaryContent(once);
    tensors.values().forEach(Tensor::close);
  }

  @Test
  void pythonReadsFilesOfJavaInEachWay() throws Exception {
    TestPython.assume();
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    try (TorchFile open = TorchFile.open(copy("all_dtypes"))) {
      open.names().forEach(name -> tensors.put(name, open.read(name)));
    }
    Path written = folder.resolve("written.pt");
    TorchFile.write(written, tensors);
    List<String> expected = new ArrayList<>();
    for (String way : List.of("{}", "{'weights_only': False}", "{'mmap': True}")) {
      expected.addAll(describe(way, written));
    }
    try (TestJvm python = TestPython.start(folder, Map.of(), SCRIPT, "read", written.toString())) {
      assertThat(python.exitCode()).as("%s", python.output()).isZero();
      assertThat(python.output().stream().filter(line -> line.startsWith("{")))
          .containsExactlyElementsOf(expected);
    }
    tensors.values().forEach(Tensor::close);
  }

  @Test
  void aFileWithoutChecksumsIsRead() throws IOException {
    try (TorchFile open = TorchFile.open(copy("no_checksums"));
        Tensor ones = open.read("x")) {
      assertThat(ones.equal(torch.ones(2))).isTrue();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "whole_module | torch.nn.modules.container.Sequential",
        "sparse | torch.serialization._get_layout",
        "legacy_whole_module | torch.nn.modules.container.Sequential",
        "legacy_tar | if torch before 0.2 saved it, load it in Python and save it again",
      })
  void otherFilesOfPythonAreRefusedByName(String file, String message) throws IOException {
    copy(file);
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> TorchFile.open(path))
        .withMessageContaining(path + ": ")
        .withMessageContaining(message);
  }

  @Test
  void changedElementsAreNoticed() throws IOException {
    byte[] bytes = golden("alone");
    bytes[indexOf(bytes, new byte[] {1, 0, 0, 0, 0, 0, 0, 0, 2})] = 9;
    Files.write(path, bytes);
    try (TorchFile open = TorchFile.open(path)) {
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> open.read(""))
          .withMessageContaining("differs from its checksum");
    }
  }

  private static int indexOf(byte[] bytes, byte[] part) {
    for (int i = 0; i + part.length <= bytes.length; i++) {
      if (Arrays.equals(bytes, i, i + part.length, part, 0, part.length)) {
        return i;
      }
    }
    throw new AssertionError("not found");
  }

  @Test
  void tensorsThatDoNotFitTheFormatAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TorchFile.write(path, Map.of("none", new Tensor())))
        .withMessageContaining("none is undefined");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TorchFile.write(path, Map.of("sparse", torch.ones(1).to_sparse())))
        .withMessageContaining("must be dense");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TorchFile.write(path, Map.of("a\ud83d", torch.ones(1))))
        .withMessage("a name must not have half of a surrogate pair, got one at index 1");
    assertThat(path).doesNotExist();
  }

  @Test
  void wrongNamesAndClosedFilesAreNamed() throws IOException {
    TorchFile open = TorchFile.open(copy("alone"));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> open.read("x"))
        .withMessageContaining("has no tensor x");
    open.close();
    open.close();
    assertThatIllegalStateException().isThrownBy(() -> open.read(""));
  }

  @Test
  void aFullDiskOrAMissingFolderIsNamed() {
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> TorchFile.write(folder.resolve("none/file.pt"), Map.of()))
        .satisfies(thrown -> assertThat(thrown.problem()).isEqualTo(Problem.UNWRITABLE));
  }
}
