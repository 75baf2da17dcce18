// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.storage.MemorySource;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of files of tensors that lie in other storage than files. */
@ExtendWith(LeakCheck.class)
class FilesOfSourcesTest {
  private final Path folder;

  FilesOfSourcesTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static byte[] golden(String name) throws IOException {
    try (InputStream in =
        requireNonNull(FilesOfSourcesTest.class.getResourceAsStream("/golden/" + name))) {
      return in.readAllBytes();
    }
  }

  private static MemorySource source(String name) throws IOException {
    MemorySource source = new MemorySource("store/" + name, golden(name));
    source.most = 100;
    return source;
  }

  private Path file(String name) throws IOException {
    return Files.write(folder.resolve("file"), golden(name));
  }

  @Test
  void tensorsOfSafetensorsAreThoseOfTheFile() throws IOException {
    String name = "all_dtypes.safetensors";
    MemorySource source = source(name);
    try (SafetensorsFile expected = SafetensorsFile.open(file(name));
        SafetensorsFile file = SafetensorsFile.open(source)) {
      assertThat(file.names()).isNotEmpty().isEqualTo(expected.names());
      assertThat(file.metadata()).isEqualTo(expected.metadata());
      for (String each : file.names()) {
        try (Tensor tensor = file.read(each);
            Tensor same = expected.read(each)) {
          assertThat(TorchFileTest.describe(tensor)).isEqualTo(TorchFileTest.describe(same));
        }
      }
      source.failsAt = 0;
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> file.read(file.names().iterator().next()))
          .withMessageStartingWith("store/" + name + ": it cannot be read: store/" + name)
          .withMessageEndingWith("no route to the store")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNREADABLE));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"all_dtypes", "legacy_all_dtypes", "legacy_nested"})
  void tensorsOfTorchFilesAreThoseOfTheFile(String base) throws IOException {
    String name = "torch_files/" + base + ".pt";
    try (TorchFile expected = TorchFile.open(file(name));
        TorchFile file = TorchFile.open(source(name))) {
      assertThat(file.names()).isNotEmpty().isEqualTo(expected.names());
      assertThat(file.values()).isEqualTo(expected.values());
      for (String each : file.names()) {
        try (Tensor tensor = file.read(each);
            Tensor same = expected.read(each)) {
          assertThat(TorchFileTest.describe(tensor)).isEqualTo(TorchFileTest.describe(same));
        }
      }
    }
  }

  @Test
  void aSourceThatCannotBeReadOrIsOfAnotherKindIsNamed() throws IOException {
    MemorySource source = MemorySource.of("store/a", "no tensors at all");
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> SafetensorsFile.open(source))
        .withMessageStartingWith("store/a: ");
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> TorchFile.open(source))
        .withMessageStartingWith("store/a: ");
    source.failsAt = 0;
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> TorchFile.open(source))
        .withMessageContaining("no route to the store");
  }

  @Test
  void aSourceThatBreaksItsContractIsNamed() {
    MemorySource source = MemorySource.of("store/a", "no tensors at all");
    source.size = -1;
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> SafetensorsFile.open(source))
        .withMessageContaining("store/a: ")
        .withMessageContaining("its size must be at least 0, got -1");
    source.broken = new IllegalStateException("no size");
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> TorchFile.open(source))
        .withMessageContaining("store/a: ")
        .withMessageContaining("no size");
  }
}
