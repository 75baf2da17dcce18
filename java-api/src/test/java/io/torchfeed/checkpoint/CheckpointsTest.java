// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the files and folders of checkpoints. */
@ExtendWith(LeakCheck.class)
class CheckpointsTest {
  private final Path folder;
  private final Module module = new Module();
  private final Tensor weight = torch.zeros(1000);
  private long epoch;
  private final TrainingState state;

  CheckpointsTest(@TempDir Path temporary) {
    folder = temporary.resolve("runs").resolve("checkpoints");
    module.register_buffer("weight", weight);
    state =
        TrainingState.builder()
            .module("model", module)
            .number("epoch", () -> epoch, saved -> epoch = saved)
            .build();
  }

  private void save(Checkpoints checkpoints, long step) {
    set(step);
    checkpoints.save(step, state);
  }

  private void set(long step) {
    weight.fill_(new Scalar((double) step));
    epoch = step;
  }

  private void assertLoads(long step) {
    set(-1);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      Checkpoint loaded = checkpoints.load(state).orElseThrow();
      assertThat(loaded.step()).isEqualTo(step);
      assertThat(loaded.folder()).isEqualTo(folder.resolve(CheckpointFolder.nameOf(step)));
    }
    assertThat(weight.get(999).item_double()).isEqualTo((double) step);
    assertThat(epoch).isEqualTo(step);
  }

  private void saveTwo() {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      save(checkpoints, 1);
      save(checkpoints, 2);
    }
  }

  private Stream<String> names() throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.map(file -> String.valueOf(file.getFileName())).sorted().toList().stream();
    }
  }

  @Test
  void aFolderWithoutCheckpointsIsTheStartOfARun() throws IOException {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThat(checkpoints.load(state)).isEmpty();
      Files.createDirectories(folder);
      assertThat(checkpoints.load(state)).isEqualTo(Optional.empty());
    }
  }

  @Test
  void theNewestAreKeptAndTheLatestIsLoaded() throws IOException {
    CheckpointOptions two = CheckpointOptions.defaults().withKept(2);
    try (Checkpoints checkpoints = Checkpoints.open(folder, two)) {
      for (long step : new long[] {9, 10, 1_000_000, 1_000_001}) {
        save(checkpoints, step);
      }
    }
    assertThat(names()).containsExactly("LATEST", "step-1000000", "step-1000001");
    assertThat(folder.resolve("LATEST")).hasContent("step-1000001\n");
    assertThat(folder.resolve("step-1000001").toFile().list())
        .containsExactlyInAnyOrder("manifest.json", "manifest.sha256", "model.safetensors");
    assertLoads(1_000_001);
  }

  @Test
  void aCheckpointOfTheSameStepIsReplaced() throws IOException {
    saveTwo();
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      set(7);
      checkpoints.save(2, state);
      set(-1);
      checkpoints.load(state);
    }
    assertThat(epoch).isEqualTo(7);
    assertThat(names()).containsExactly("LATEST", "step-000001", "step-000002");
  }

  @Test
  void theCheckpointOfAStepIsLoadedByItsNumberAndNoOtherInItsPlace() throws IOException {
    saveTwo();
    set(-1);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThat(checkpoints.load(state, Part.whole(), 1).step()).isEqualTo(1);
      assertThat(epoch).isEqualTo(1);
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(state, Part.whole(), 3))
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.MISSING));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> checkpoints.load(state, Part.whole(), -1));
      Files.writeString(folder.resolve("step-000002").resolve("manifest.json"), "{}");
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(state, Part.whole(), 2))
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.DAMAGED));
    }
    assertThat(epoch).isEqualTo(1);
  }

  @Test
  void anOlderOneThatLatestNamesIsContinuedAndLaterOnesStay() throws IOException {
    saveTwo();
    Files.writeString(folder.resolve("LATEST"), "step-000001\n");
    assertLoads(1);
    Files.writeString(folder.resolve("LATEST"), "step-000000\n");
    try (Checkpoints checkpoints =
        Checkpoints.open(folder, CheckpointOptions.defaults().withKept(1))) {
      save(checkpoints, 0);
      assertThat(names()).containsExactly("LATEST", "step-000000", "step-000001", "step-000002");
    }
    assertLoads(0);
  }

  @Test
  void whatAKilledProcessLeftIsRemoved() throws IOException {
    Path left = Files.createDirectories(folder.resolve(".step-000003.partial-x"));
    Files.writeString(left.resolve("model.safetensors"), "half");
    saveTwo();
    assertThat(names()).containsExactly("LATEST", "step-000001", "step-000002");
  }

  @Test
  void aCheckpointThatAKilledProcessWasReplacingIsRestored() throws IOException {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      save(checkpoints, 3);
    }
    // As a kill between two renames leaves it.
    Files.move(folder.resolve("step-000003"), folder.resolve(".step-000003.replaced-x"));
    Files.createDirectories(folder.resolve(".step-000003.partial-x"));
    assertLoads(3);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      save(checkpoints, 4);
    }
    assertThat(names()).containsExactly("LATEST", "step-000003", "step-000004");
  }

  @Test
  void foldersInsideOfOldCheckpointsAreDeletedWithThem() throws IOException {
    try (Checkpoints checkpoints =
        Checkpoints.open(folder, CheckpointOptions.defaults().withKept(1))) {
      save(checkpoints, 1);
      Files.createFile(
          Files.createDirectories(folder.resolve("step-000001/.notes")).resolve("file"));
      save(checkpoints, 2);
    }
    assertThat(names()).containsExactly("LATEST", "step-000002");
  }

  @Test
  void theFolderMayBeALink() throws IOException {
    Path target = Files.createDirectories(folder.resolve("disk"));
    Path link = Files.createSymbolicLink(folder.resolve("link"), target);
    try (Checkpoints checkpoints = Checkpoints.open(link)) {
      save(checkpoints, 1);
    }
    assertThat(target.resolve("step-000001")).isDirectory();
  }

  @Test
  void foldersWithZerosBeforeSevenDigitsAreNoCheckpoints() throws IOException {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      save(checkpoints, 1);
      Files.createDirectory(folder.resolve("step-0000100"));
      save(checkpoints, 101);
      save(checkpoints, 102);
      save(checkpoints, 103);
    }
    assertLoads(103);
  }

  @Test
  void withoutLatestTheHighestStepIsLoaded() throws IOException {
    saveTwo();
    Files.delete(folder.resolve("LATEST"));
    assertLoads(2);
  }

  @Test
  void theManifestHasTheStateAndDigests() throws Exception {
    saveTwo();
    Path step = folder.resolve("step-000002");
    assertThat(Files.readString(step.resolve("manifest.json")))
        .startsWith("{\"version\":3,\"step\":2,\"parts\":{\"model\":{\"state\":{\"version\":1,")
        .contains("\"file\":{\"name\":\"model.safetensors\",\"bytes\":")
        .endsWith("\"epoch\":{\"state\":{\"value\":2}}}}\n");
    Process check =
        new ProcessBuilder("sha256sum", "-c", "manifest.sha256").directory(step.toFile()).start();
    assertThat(check.waitFor()).isZero();
  }

  private static void change(Path file, int kind) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    switch (kind) {
      case 0 -> Files.delete(file);
      case 1 -> Files.write(file, Arrays.copyOf(bytes, bytes.length / 2));
      case 2 -> Files.write(file, new byte[0]);
      default -> {
        bytes[bytes.length / 3] ^= 4;
        Files.write(file, bytes);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"manifest.json", "manifest.sha256", "model.safetensors"})
  void theOneBeforeADamagedOneIsLoadedAndTheDamageIsReported(String name) throws IOException {
    for (int kind = 0; kind < 4; kind++) {
      saveTwo();
      Path file = folder.resolve("step-000002").resolve(name);
      change(file, kind);
      set(-1);
      try (Checkpoints checkpoints = Checkpoints.open(folder)) {
        Checkpoint loaded = checkpoints.load(state).orElseThrow();
        assertThat(loaded.step()).isEqualTo(1);
        assertThat(loaded.skipped())
            .singleElement()
            .extracting("problem")
            .isIn(Problem.DAMAGED, Problem.MISSING);
        assertThat(loaded.skipped().get(0)).hasMessageContaining("step-000002");
      }
      assertThat(weight.get(0).item_double()).isEqualTo(1);
    }
  }

  @Test
  void aLatestThatNamesNothingIsReported() throws IOException {
    saveTwo();
    Files.writeString(folder.resolve("LATEST"), "../step-000001");
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      Checkpoint loaded = checkpoints.load(state).orElseThrow();
      assertThat(loaded.step()).isEqualTo(2);
      assertThat(loaded.skipped())
          .singleElement()
          .satisfies(e -> assertThat(e).hasMessageContaining("must name a checkpoint"));
    }
  }

  @Test
  void damagedCheckpointsAloneAreNotTheStartOfARun() throws IOException {
    saveTwo();
    change(folder.resolve("step-000002").resolve("model.safetensors"), 1);
    change(folder.resolve("step-000001").resolve("model.safetensors"), 3);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(state))
          .withMessageContaining("none of its checkpoints is good; the first: ")
          .withMessageContaining("bytes, got")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.DAMAGED))
          .satisfies(e -> assertThat(e.getSuppressed()[0]).hasMessageContaining("CRC-32C"));
    }
  }

  @Test
  void aFolderThatCannotBeWrittenIsToldAndMayBeTriedAgain() throws IOException {
    Files.createDirectories(requireNonNull(folder.getParent()));
    Files.writeString(folder, "a file");
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> save(checkpoints, 1))
          .withMessageContaining("cannot be written")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNWRITABLE));
      Files.delete(folder);
      save(checkpoints, 2);
    }
    assertLoads(2);
  }

  @Test
  void aSaveInTheBackgroundHasTheStateOfItsMoment() {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      for (long step = 1; step <= 20; step++) {
        set(step);
        checkpoints.saveInBackground(step, state);
        set(-step);
      }
    }
    assertLoads(20);
  }

  @Test
  void aFailureInTheBackgroundIsThrownOnceByTheNextCall() throws IOException {
    Files.createDirectories(requireNonNull(folder.getParent()));
    Files.writeString(folder, "a file");
    Checkpoints checkpoints = Checkpoints.open(folder);
    checkpoints.saveInBackground(1, state);
    assertThatExceptionOfType(CheckpointException.class).isThrownBy(checkpoints::await);
    checkpoints.await();
    checkpoints.saveInBackground(2, state);
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> checkpoints.saveInBackground(3, state));
    checkpoints.saveInBackground(4, state);
    assertThatExceptionOfType(CheckpointException.class).isThrownBy(checkpoints::close);
    checkpoints.close();
    assertThatIllegalStateException().isThrownBy(() -> checkpoints.save(5, state));
    assertThatIllegalStateException().isThrownBy(() -> checkpoints.load(state));
  }

  @Test
  void anInterruptedThreadSavesAndStaysInterrupted() {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      Thread.currentThread().interrupt();
      save(checkpoints, 1);
      assertThat(Thread.interrupted()).isTrue();
      Thread.currentThread().interrupt();
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(state));
      assertThat(Thread.interrupted()).isTrue();
    }
    assertLoads(1);
  }

  @Test
  void aTensorThatAFileCannotHaveLeavesTheOldCheckpoint() throws IOException {
    saveTwo();
    module.register_buffer("sparse", torch.ones(1).to_sparse());
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> checkpoints.save(3, state))
          .withMessageContaining("sparse must be dense");
      assertThatIllegalArgumentException().isThrownBy(() -> checkpoints.save(-1, state));
    }
    assertThat(names()).containsExactly("LATEST", "step-000001", "step-000002");
  }
}
