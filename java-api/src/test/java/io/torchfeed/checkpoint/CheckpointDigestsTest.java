// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static io.torchfeed.checkpoint.ChangedFiles.flip;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
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

/**
 * Tests of the digests of files, by blocks and, in checkpoints of earlier versions, of whole files.
 */
@ExtendWith(LeakCheck.class)
class CheckpointDigestsTest {
  private static final int STEP = 3;
  private static final long BLOCK = 16 << 20;
  private static final int ELEMENTS = 10 << 20; // in three blocks, the first with the header

  private final Path folder;
  private long number;

  CheckpointDigestsTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** One tensor. */
  private record OneTensor(String name, Tensor tensor) implements Stateful {
    @Override
    public StateDict stateDict() {
      return StateDict.of("{}", Map.of(name, tensor));
    }

    @Override
    public void loadStateDict(StateDict state) {
      state.copyTo(Map.of(name, tensor));
    }
  }

  private TrainingState.Builder state(String name, Tensor tensor) {
    return TrainingState.builder()
        .part("large", new OneTensor(name, tensor))
        .number("number", () -> number, saved -> number = saved);
  }

  private TrainingState versioned(int version, Tensor tensor) {
    TrainingState.Builder all = state("weight", tensor);
    return version == 1 ? all.build() : all.ofEachRank("own", new OneTensor("w", tensor)).build();
  }

  /**
   * Writes the golden files of versions 1 and 2. With the classes of commit 3963679b, the last one
   * of these versions: {@code java -cp ... io.torchfeed.checkpoint.CheckpointDigestsTest
   * src/test/resources/golden/checkpoints}.
   */
  public static void main(String[] args) {
    for (int version = 1; version <= 2; version++) {
      Path golden = Path.of(args[0], "version-" + version);
      CheckpointDigestsTest written = new CheckpointDigestsTest(golden);
      written.number = version;
      try (Tensor tensor = torch.arange(new Scalar(1000f));
          Checkpoints checkpoints = Checkpoints.open(golden)) {
        checkpoints.save(STEP, written.versioned(version, tensor));
      }
    }
  }

  private Path file(String name) {
    return folder.resolve(CheckpointFolder.nameOf(STEP)).resolve(name);
  }

  private void copyGolden(int version) throws IOException {
    Files.createDirectories(requireNonNull(file("x").getParent()));
    String golden = "/golden/checkpoints/version-%d/step-000003/".formatted(version);
    for (String name :
        new String[] {"manifest.json", "manifest.sha256", "large.safetensors", "own.safetensors"}) {
      try (InputStream in = CheckpointDigestsTest.class.getResourceAsStream(golden + name)) {
        if (in != null) {
          Files.copy(in, file(name));
        }
      }
    }
  }

  private void rewriteManifest(String from, String to) throws IOException {
    ChangedFiles.rewriteManifest(file("manifest.json"), text -> text.replaceFirst(from, to));
  }

  /** Asserts that loading and verifying refuse a file, and that nothing was loaded. */
  private void assertRefused(TrainingState state, Problem problem, String file, String message) {
    number = -1;
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(state, Part.whole(), STEP))
          .withMessageStartingWith(file(file) + ": " + message)
          .returns(problem, CheckpointException::problem);
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.verify(STEP))
          .withMessageStartingWith(file(file) + ": " + message);
    }
    assertThat(number).isEqualTo(-1);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void checkpointsOfEarlierVersionsAreLoaded(int version) throws IOException {
    copyGolden(version);
    assertThat(Files.readString(file("manifest.json")))
        .startsWith("{\"version\":%d,".formatted(version))
        .contains("\"sha256\":\"");
    try (Tensor tensor = torch.zeros(1000);
        Tensor expected = torch.arange(new Scalar(1000f));
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.verify(STEP);
      assertThat(checkpoints.load(versioned(version, tensor))).isPresent();
      assertThat(tensor.equal(expected)).isTrue();
    }
    assertThat(number).isEqualTo(version);
  }

  @ParameterizedTest
  @CsvSource({
    "1,large.safetensors,100",
    "1,large.safetensors,1000",
    "2,large.safetensors,8",
    "2,own.safetensors,4000"
  })
  void damagedFilesOfEarlierVersionsAreRefused(int version, String name, long at)
      throws IOException {
    copyGolden(version);
    flip(file(name), at);
    try (Tensor tensor = torch.zeros(1000)) {
      assertRefused(
          versioned(version, tensor),
          Problem.DAMAGED,
          name,
          "its SHA-256 is not the one in manifest.json; it was damaged or replaced: restore it");
      assertThat(tensor.sum().item_double()).isZero();
    }
  }

  @Test
  void aManifestOfALaterVersionIsNoDamage() throws IOException {
    copyGolden(1);
    rewriteManifest("\"version\":1,", "\"version\":4,");
    try (Tensor tensor = torch.zeros(1000)) {
      assertRefused(
          versioned(1, tensor),
          Problem.MISMATCH,
          "manifest.json",
          "the version of a manifest must be 3, got 4");
    }
  }

  private void save(String name) {
    try (Tensor tensor = torch.arange(new Scalar((float) ELEMENTS));
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(STEP, state(name, tensor).build());
    }
  }

  private void assertLoads(String name) {
    try (Tensor tensor = torch.zeros(ELEMENTS);
        Tensor expected = torch.arange(new Scalar((float) ELEMENTS));
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.verify(STEP);
      assertThat(checkpoints.load(state(name, tensor).build())).isPresent();
      assertThat(tensor.equal(expected)).isTrue();
    }
  }

  /** A place before 0 is counted from the end. */
  @ParameterizedTest
  @CsvSource({"20,0", "1000,0", "16777215,0", "16777216,1", "33554431,1", "33554432,2", "-1,2"})
  void aDamagedByteIsFoundAndItsBlockNamed(long at, int block) throws IOException {
    save("tensor");
    assertLoads("tensor");
    Path file = file("large.safetensors");
    flip(file, at < 0 ? Files.size(file) + at : at);
    try (Tensor tensor = torch.zeros(ELEMENTS)) {
      assertRefused(
          state("tensor", tensor).build(),
          Problem.DAMAGED,
          "large.safetensors",
          ("its CRC-32C from byte %d on is not the one in manifest.json; it was damaged or"
                  + " replaced: restore it, or delete its folder")
              .formatted(block * BLOCK));
      assertThat(tensor.sum().item_double()).isZero();
    }
  }

  @Test
  void aHeaderMayEndInAnotherBlockThanTheFirst() throws IOException {
    String name = "n".repeat(2 * (int) BLOCK);
    save(name);
    assertLoads(name);
    for (int block = 0; block < 4; block++) {
      long at = block * BLOCK + 1000;
      flip(file("large.safetensors"), at);
      try (Checkpoints checkpoints = Checkpoints.open(folder);
          Tensor tensor = torch.zeros(ELEMENTS)) {
        TrainingState state = state(name, tensor).build();
        assertThatExceptionOfType(CheckpointException.class)
            .isThrownBy(() -> checkpoints.load(state, Part.whole(), STEP))
            .withMessageContaining("its CRC-32C from byte %d on ".formatted(block * BLOCK));
      }
      flip(file("large.safetensors"), at);
    }
    assertLoads(name);
  }

  /** The length of the name moves the end of the header to the end of a block, and beside it. */
  @ParameterizedTest
  @ValueSource(ints = {-8, 0, 8})
  void aFileWithoutValuesMayEndWithABlock(int beside) throws IOException {
    String begin = "{\"__metadata__\":{\"format\":\"pt\"},\"";
    String end = "\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}";
    String name = "n".repeat((int) BLOCK + beside - 8 - begin.length() - end.length());
    try (Tensor empty = torch.zeros(0);
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      TrainingState state = state(name, empty).build();
      checkpoints.save(STEP, state);
      assertThat(Files.size(file("large.safetensors"))).isEqualTo(BLOCK + beside);
      checkpoints.verify(STEP);
      assertThat(checkpoints.load(state)).isPresent();
      flip(file("large.safetensors"), BLOCK / 2);
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(state, Part.whole(), STEP))
          .withMessageContaining("its CRC-32C");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"crc32c\":\\[\"[0-9a-f]{8}\", | \"crc32c\":[ | must have 3 digests, got 2",
        "\"crc32c\":\\[ | \"crc32c\":[\"00000000\", | must have 3 digests, got 4",
        "\"crc32c\":\\[.*?\\] | \"crc32c\":[] | must have 3 digests, got 0",
        "\"crc32c\":\\[.*?\\] | \"crc32c\":\"00000000\" | must have an array of strings",
        ",\"crc32c\":\\[.*?\\] | '' | lacks the field",
        "\"crc32c\":\\[\"[0-9a-f] | \"crc32c\":[\" | must have 8 hexadecimal digits in lower case",
        "\"crc32c\":\\[\"[0-9a-f] | \"crc32c\":[\"A | must have 8 hexadecimal digits in lower case",
        "\"crc32c\": | \"sha256\":\"\",\"crc32c\": | must have one of sha256 and crc32c, got both",
        "\"bytes\":\\d+ | \"bytes\":-1 | must have at least 0 bytes, got -1",
      })
  void aManifestWithoutADigestForEachBlockIsRefused(String from, String to, String message)
      throws IOException {
    save("tensor");
    rewriteManifest(from, to);
    try (Tensor tensor = torch.zeros(ELEMENTS);
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      TrainingState state = state("tensor", tensor).build();
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(state, Part.whole(), STEP))
          .withMessageStartingWith(file("manifest.json") + ": ")
          .withMessageContaining(message)
          .withMessageContaining("; it was damaged or replaced")
          .returns(Problem.DAMAGED, CheckpointException::problem);
    }
  }

  @Test
  void digestsOfExchangedBlocksAreNotThoseOfTheFile() throws IOException {
    save("tensor");
    rewriteManifest("(\"[0-9a-f]{8}\"),(\"[0-9a-f]{8}\")\\]", "$2,$1]");
    try (Tensor tensor = torch.zeros(ELEMENTS)) {
      assertRefused(
          state("tensor", tensor).build(),
          Problem.DAMAGED,
          "large.safetensors",
          "its CRC-32C from byte 16777216 on ");
    }
  }
}
