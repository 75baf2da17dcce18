// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.testing.GoldenLine;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests against folders that two ranks of Python wrote by {@code torch.distributed.checkpoint}. */
@ExtendWith(LeakCheck.class)
class DistributedCheckpointTest {
  private static final List<String> SHARDED = List.of(".metadata", "__0_0.distcp", "__1_0.distcp");
  private static final List<String> SAFETENSORS =
      List.of(
          "model.safetensors.index.json",
          "model-00001-of-00002.safetensors",
          "model-00002-of-00002.safetensors");

  private final Path folder;

  DistributedCheckpointTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** Copies a folder of the golden ones, and returns the first of its files. */
  private Path copy(String golden, List<String> files) throws IOException {
    for (String file : files) {
      String name = "/golden/distributed/" + golden + "/" + file;
      try (InputStream in =
          requireNonNull(DistributedCheckpointTest.class.getResourceAsStream(name), name)) {
        Files.write(folder.resolve(file), in.readAllBytes());
      }
    }
    return folder.resolve(files.get(0));
  }

  private static void assertHasTheTensorsOfPython(Path index) throws IOException {
    List<String> lines = new ArrayList<>();
    try (IndexedTensors saved = IndexedTensors.open(index)) {
      for (String name : saved.names()) {
        try (Tensor tensor = saved.read(name)) {
          lines.add(name + "\t" + TorchFileTest.describe(tensor));
        }
      }
    }
    assertThat(lines)
        .containsExactlyInAnyOrderElementsOf(GoldenLine.read("distributed/tensors.txt"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"2.10.0", "2.15.0"})
  void tensorsOfSeveralRanksComeAsAWhole(String version) throws IOException {
    assertHasTheTensorsOfPython(copy("sharded_" + version, SHARDED));
  }

  @ParameterizedTest
  @ValueSource(strings = {"2.10.0", "2.15.0"})
  void filesOfSafetensorsAreReadByTheirIndex(String version) throws IOException {
    assertHasTheTensorsOfPython(copy("safetensors_" + version, SAFETENSORS));
  }

  @Test
  void aClosedFolderIsNotRead() throws IOException {
    IndexedTensors saved = IndexedTensors.open(copy("sharded_2.15.0", SHARDED));
    saved.close();
    saved.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> saved.read("model.rows"))
        .withMessage("the file is closed");
  }

  /** One of them would be taken for all of it, since it ends as a file of one tensor does. */
  @Test
  void aFileOfSeveralTensorsIsNoFileOfTorchSave() throws IOException {
    copy("sharded_2.15.0", SHARDED);
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> TorchFile.open(folder.resolve("__0_0.distcp")).close())
        .withMessageContaining("open its folder's .metadata by IndexedTensors")
        .returns(Problem.DAMAGED, CheckpointException::problem);
  }

  @Test
  void aMissingOrShorterFileIsNamed() throws IOException {
    Path index = copy("sharded_2.15.0", SHARDED);
    Path file = folder.resolve("__1_0.distcp");
    byte[] bytes = Files.readAllBytes(file);
    Files.write(file, Arrays.copyOf(bytes, bytes.length - 1));
    assertRefused(index, Problem.DAMAGED, "__1_0.distcp: it must have at least");
    Files.delete(file);
    assertRefused(index, Problem.MISSING, "__1_0.distcp: there is no such file");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "metadata.Metadata | metadata.Metadatb | no index of torch.distributed.checkpoint",
        "__0_0.distcp | .._0/distcp_ | it must name files beside it",
        "bfloat16\u0094 | bfloat17\u0094 | torch.bfloat17, which is not supported",
        "storage_data | storage_dbta | lacks the attribute storage_data",
        "relative_path | relative_pbth | lacks the attribute relative_path",
      })
  void aMalformedIndexIsNamed(String from, String to, String message) throws IOException {
    Path index = copy("sharded_2.15.0", SHARDED);
    String text = Files.readString(index, StandardCharsets.ISO_8859_1);
    String changed = text.replace(from.replace("metadata.", ""), to.replace("metadata.", ""));
    assertThat(changed).isNotEqualTo(text);
    Files.writeString(index, changed, StandardCharsets.ISO_8859_1);
    assertRefused(index, Problem.DAMAGED, message);
  }

  private static void assertRefused(Path index, Problem problem, String message) {
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> IndexedTensors.open(index).close())
        .withMessageContaining(message)
        .returns(problem, CheckpointException::problem);
  }
}
