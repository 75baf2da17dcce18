// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.LeakCheck;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Objects;
import java.util.Random;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Reads files with bytes that are changed, missing, added or moved: they can be read, or give the
 * one exception. The number of files of each kind is the system property {@code
 * torchfeed.mutations}, and {@code torchfeed.mutations.seed} chooses them.
 *
 * <p>1,008,000 files passed with {@code -Xmx200m -Dtorchfeed.mutations=12000} and the seeds 101 to
 * 128, a JVM each, with at most 385 MB resident.
 */
@ExtendWith(LeakCheck.class)
class MutatedFilesTest {
  private static final int FILES = Integer.getInteger("torchfeed.mutations", 500);
  private static final long SEED = Long.getLong("torchfeed.mutations.seed", 7);
  private static final int STEP = 7;

  private final Path folder;

  MutatedFilesTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static byte[] resource(String name) throws IOException {
    try (InputStream in =
        Objects.requireNonNull(MutatedFilesTest.class.getResourceAsStream("/golden/" + name))) {
      return in.readAllBytes();
    }
  }

  private static byte[] mutated(byte[] whole, Random random) {
    byte[] bytes = whole.clone();
    for (int change = random.nextInt(3); change >= 0 && bytes.length > 0; change--) {
      // half of the changes are near the beginning, where the headers are
      int at = random.nextInt(random.nextBoolean() ? Math.min(4000, bytes.length) : bytes.length);
      int end = Math.min(bytes.length, at + random.nextInt(64));
      byte[] before = Arrays.copyOf(bytes, at);
      byte[] piece = Arrays.copyOfRange(bytes, at, end);
      byte[] after = Arrays.copyOfRange(bytes, end, bytes.length);
      switch (random.nextInt(16)) {
        case 0 -> bytes = before;
        case 1 -> bytes = join(before, after);
        case 2 -> bytes = join(before, piece, piece, after);
        case 3 -> bytes = join(before, new byte[1 + random.nextInt(64)], piece, after);
        default -> bytes[at] = (byte) random.nextInt();
      }
    }
    return bytes;
  }

  private static byte[] join(byte[]... parts) {
    ByteArrayOutputStream joined = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      joined.writeBytes(part);
    }
    return joined.toByteArray();
  }

  private interface Reader {
    void read() throws IOException;
  }

  /** Reads mutations of a file; some must be refused, for else nothing was tested. */
  private static void mutate(Path path, byte[] whole, Reader reader) throws IOException {
    Random random = new Random(SEED);
    int refused = 0;
    for (int i = 0; i < FILES; i++) {
      Files.write(path, mutated(whole, random));
      try {
        reader.read();
      } catch (CheckpointException e) {
        refused++;
      } catch (RuntimeException | Error e) {
        throw new AssertionError("file %d of seed %d: %s".formatted(i, SEED, path), e);
      }
    }
    assertThat(refused).isGreaterThan(FILES / 10);
  }

  @Test
  void safetensors() throws IOException {
    Path path = folder.resolve("file.safetensors");
    mutate(
        path,
        resource("all_dtypes.safetensors"),
        () -> {
          try (SafetensorsFile file = SafetensorsFile.open(path)) {
            file.names().forEach(name -> file.read(name).close());
          }
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"nested", "legacy_nested"})
  void torchFiles(String golden) throws IOException {
    Path path = folder.resolve("file.pt");
    mutate(
        path,
        resource("torch_files/" + golden + ".pt"),
        () -> {
          try (TorchFile file = TorchFile.open(path)) {
            for (String name : file.names()) {
              try (Tensor tensor = file.read(name)) {
                assertThat(tensor.numel()).isNotNegative();
              }
            }
          }
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {".metadata", "__0_0.distcp"})
  void distributedCheckpoints(String mutated) throws IOException {
    String golden = "distributed/sharded_2.15.0/";
    for (String name : new String[] {".metadata", "__0_0.distcp", "__1_0.distcp"}) {
      Files.write(folder.resolve(name), resource(golden + name));
    }
    mutate(
        folder.resolve(mutated),
        resource(golden + mutated),
        () -> {
          try (IndexedTensors tensors = IndexedTensors.open(folder.resolve(".metadata"))) {
            for (String name : tensors.names()) {
              tensors.read(name).close();
            }
          }
        });
  }

  /** The digest file fits the mutated manifest. */
  @Test
  void manifests() throws IOException {
    try (SmallNet net = new SmallNet();
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      TrainingState state = TrainingState.builder().module("model", net).build();
      checkpoints.save(STEP, state);
      Path manifest = folder.resolve("step-000007").resolve("manifest.json");
      Path digest = manifest.resolveSibling("manifest.sha256");
      mutate(
          manifest,
          Files.readAllBytes(manifest),
          () -> {
            Files.writeString(digest, sha256(Files.readAllBytes(manifest)) + "  manifest.json\n");
            checkpoints.load(state);
          });
    }
  }

  private static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
