// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of archives that {@code torch.save} does not write. */
class MalformedTorchFileTest {
  private final Path folder;
  private final Path path;

  MalformedTorchFileTest(@TempDir Path folder) {
    this.folder = folder;
    path = folder.resolve("file.pt");
  }

  /** Returns an archive with a pickle and a storage of 8 bytes. */
  private Path archive(String pickle, String... others) throws IOException {
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(path))) {
      put(zip, "a/data.pkl", pickle.getBytes(StandardCharsets.ISO_8859_1));
      put(zip, "a/data/0", new byte[8]);
      for (String other : others) {
        put(zip, other, "big".getBytes(StandardCharsets.UTF_8));
      }
    }
    return path;
  }

  private static void put(ZipOutputStream zip, String name, byte[] bytes) throws IOException {
    CRC32 checksum = new CRC32();
    checksum.update(bytes);
    ZipEntry entry = new ZipEntry(name);
    entry.setMethod(ZipEntry.STORED);
    entry.setSize(bytes.length);
    entry.setCrc(checksum.getValue());
    zip.putNextEntry(entry);
    zip.write(bytes);
  }

  /** Returns the pickle of a tensor of float32 in the storage of 8 bytes. */
  private static String tensor(String key, String offset, String sizes, String strides) {
    return "ctorch._utils\n_rebuild_tensor_v2\n((U\u0007".replace("U\u0007", "\u008c\u0007storage")
        + "ctorch\nFloatStorage\n\u008c\u0001"
        + key
        + "\u008c\u0003cpuK\u0002tQ"
        + offset
        + "("
        + sizes
        + "t("
        + strides
        + "t\u0089}tR.";
  }

  private static String four(int number) {
    return "J"
        + (char) (number & 0xFF)
        + (char) (number >> 8 & 0xFF)
        + (char) (number >> 16 & 0xFF)
        + (char) (number >>> 24);
  }

  @Test
  void malformedPicklesAreNamed() throws IOException {
    String one = "K\u0001";
    String large = four(Integer.MAX_VALUE);
    TorchFile.open(archive(tensor("0", "K\0", "K\u0002", one))).close();
    assertDamaged(archive(tensor("1", "K\0", "K\u0002", one)), "elements of  are missing");
    assertDamaged(archive(tensor("0", one, "K\u0002", one)), "more elements than the 8 bytes");
    assertDamaged(archive(tensor("0", "K\0", "K\u0002", large)), "more elements than the 8 bytes");
    assertDamaged(
        archive(tensor("0", "K\0", large.repeat(3), "K\0".repeat(3))),
        "the shape of  is too large");
    assertDamaged(archive(tensor("0", "K\0", four(-1), one)), "no number of at least 0");
    assertDamaged(archive(tensor("0", "K\0", one, "")), "1 sizes and 0 strides");
    assertDamaged(archive("cos\nsystem\n(\u008c\u0002lstR."), "os.system");
    assertDamaged(archive("cbuiltins\neval\n."), "builtins.eval");
    assertDamaged(archive("]q\0h\0a."), "more than 64 levels deep");
    assertDamaged(archive("K\u0001q\0".concat("]q\1(h\0h\0e0")), "opcode 0x30");
    assertDamaged(archive("(h\0."), "refers to an object that is not there");
    assertDamaged(archive("a."), "uses an object that is not there");
    assertDamaged(archive("t."), "uses a mark that is not there");
    assertDamaged(archive("}(K\u0001u."), "a key without a value");
    assertDamaged(archive("}]K\u0001s."), "a key must be a text or a whole number");
    assertDamaged(archive("K\u0001K\u0001a."), "in the place of a list");
    assertDamaged(archive("X\u00ff\u00ff\u00ff\u00ff."), "ends too early");
    assertDamaged(archive("\u008c\u0001\u00ff."), "not in UTF-8");
    assertDamaged(archive("cno end"), "ends too early");
    assertDamaged(archive("]"), "ends too early");
  }

  @Test
  void aSmallPickleOfManyObjectsIsRefused() throws IOException {
    StringBuilder pickle = new StringBuilder("K\u0001q\0");
    for (int i = 1; i <= 30; i++) {
      pickle.append("](h").append((char) (i - 1)).append('h').append((char) (i - 1));
      pickle.append("eq").append((char) i);
    }
    assertDamaged(archive(pickle + "."), "repeats its objects");
  }

  @Test
  void otherArchivesAreNamed() throws IOException {
    assertProblem(archive("}.", "a/constants.pkl"), Problem.MISMATCH, "TorchScript");
    assertProblem(archive("}.", "a/byteorder"), Problem.MISMATCH, "another order of bytes");
    Files.write(path, new byte[100]);
    assertDamaged(path, "no whole zip file");
    assertProblem(folder.resolve("none.pt"), Problem.MISSING, "no such file");
    assertProblem(folder, Problem.UNREADABLE, "must be a regular file, got a directory");
  }

  private static void assertDamaged(Path path, String message) {
    assertProblem(path, Problem.DAMAGED, message);
  }

  private static void assertProblem(Path path, Problem problem, String message) {
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> TorchFile.open(path).close())
        .withMessageContaining(message)
        .satisfies(thrown -> assertThat(thrown.problem()).isEqualTo(problem));
  }
}
