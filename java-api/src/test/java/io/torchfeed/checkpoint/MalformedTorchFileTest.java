// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.bytedeco.pytorch.Tensor;
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
    assertDamaged(
        archive("}]K\u0001s."), "must be a text or a whole number; save it with str(key)");
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

  /** Returns the head of a legacy file, up to its description of the machine. */
  private static String head() {
    return "\u0080\2\u008a\nl\u00fc\u009cF\u00f9 j\u00a8P\u0019.\u0080\2M\u00e9\3.";
  }

  private static String legacy(String tensor) {
    return head() + "}\u008c\rlittle_endian\u0088s." + tensor;
  }

  private Path file(String content) throws IOException {
    return Files.write(path, content.getBytes(StandardCharsets.ISO_8859_1));
  }

  @Test
  void malformedLegacyFilesAreNamed() throws IOException {
    String tensor = tensor("a", "K\0", "K\2", "K\1").replace("cpuK\2t", "cpuK\2Nt");
    String keys = "]\u008c\u0001aa.";
    String two = "\2\0\0\0\0\0\0\0";
    TorchFile.open(file(legacy(tensor + keys + two + "12345678"))).close();
    TorchFile.open(file(legacy(tensor + keys + two + "12345678 and more"))).close();
    assertDamaged(
        file(legacy(tensor + keys + two + "1234567")),
        "has 2 elements of 4 bytes, but the file ends after 7");
    assertDamaged(file(legacy(tensor + keys + "\2\0\0")), "the file ends before the storage a");
    assertDamaged(file(legacy(tensor + keys + "\u00ff".repeat(8) + "12345678")), "has -1 elements");
    assertDamaged(
        file(legacy(tensor + keys + "\u00ff".repeat(7) + "\1" + "12345678")), "but the file ends");
    assertDamaged(file(legacy(tensor + "]." + two)), "the elements of  are missing");
    assertDamaged(file(legacy(tensor + "N.")), "the keys of the storages are missing");
    assertDamaged(file(legacy(tensor + "]\u008c\1ba." + two)), "a storage belongs to no tensor");
    assertDamaged(
        file(legacy(tensor + "](\u008c\1a\u008c\1ae." + (two + "12345678").repeat(2))),
        "the file has the storage a twice");
    String large = four(Integer.MAX_VALUE).substring(1);
    String view = tensor.replace("K\2Nt", "K\2(\u008c\1v\u008a\u0008" + large + large + "K\1tt");
    assertDamaged(file(legacy(view + keys + two + "12345678")), "the shape of  is too large");
    assertDamaged(file(legacy("cos\nsystem\n(\u008c\u0002lstR.")), "os.system");
    assertDamaged(file(legacy("")), "ends too early");
    assertDamaged(
        file(head().replace("\u00e9", "\u00e8")),
        "the version of the format must be 1001, got 1000");
    assertProblem(file(head() + "}."), Problem.MISMATCH, "another order of bytes");
    assertDamaged(file(legacy("X\0\0\0\2" + "x".repeat(17 << 20))), "at most 16777216 bytes");
  }

  @Test
  void aDictionaryOfPython2IsAListOfPairs() throws IOException {
    String pairs = "](](U\u0001aK\1e](U\u0001bK\2ee";
    try (TorchFile open = TorchFile.open(archive("ccollections\nOrderedDict\n(" + pairs + "tR."))) {
      assertThat(open.values()).isEqualTo(Map.of("a", 1L, "b", 2L));
    }
    assertDamaged(archive("ccollections\nOrderedDict\n(](](K\1eetR."), "a key without a value");
    assertDamaged(archive("ccollections\nOrderedDict\n(](K\1etR."), "in the place of a list");
  }

  @Test
  void aViewInALegacyFileBeginsWithinItsStorage() throws IOException {
    String tensor = tensor("a", "K\0", "K\2", "K\1").replace("cpuK\2t", "cpuK\3(\u008c\1vK\1K\2tt");
    String floats = "\0\0\u0080?" + "\0\0\0@" + "\0\0@@";
    file(legacy(tensor + "]\u008c\u0001aa.\3\0\0\0\0\0\0\0" + floats));
    try (TorchFile open = TorchFile.open(path);
        Tensor read = open.read("")) {
      assertThat(read.get(0).item_float()).isEqualTo(2);
      assertThat(read.get(1).item_float()).isEqualTo(3);
    }
  }

  @Test
  void otherContentIsNamedWithTheCure() throws IOException {
    assertDamaged(
        file("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
        "a Git LFS pointer in the place of the file; get the file by git lfs pull");
    assertDamaged(file("\n <!DOCTYPE html><p>Sign in"), "a web page in the place of the file");
    assertDamaged(file("\u001f\u008b\10\0\0\0\0\0"), "a gzip file; unpack it first");
    assertDamaged(
        file("\3\0\0\0\0\0\0\0{}\"{\"a"),
        "it is no file of torch.save, but begins with 03 00 00 00 00 00 00 00, unlike a zip file");
    assertDamaged(file("\2\0\0\0\0\0\0\0{}"), "open it by SafetensorsFile");
    assertDamaged(file("# xet version 0\nfilesize = 9\n"), "a Git-Xet pointer in the place of");
    assertDamaged(
        file("Repository not found\n"),
        "it is no file of torch.save, but a text that begins with \"Repository not found\", for");
    assertDamaged(file("PK\3\4\24\0\0\10"), "(its end is missing), as torch.save writes; write or");
    assertDamaged(file("\2\0\0\0\0\0\0\0{\"a\":1}"), "open it by SafetensorsFile");
    assertDamaged(file(""), "an empty file");
    assertProblem(file("\u0080\4K\1."), Problem.MISMATCH, "a pickle, but none of torch.save");
    assertProblem(file("\u0080\4cos\nsystem\n."), Problem.MISMATCH, "none of torch.save");
    assertDamaged(file("\u0080"), "ends too early");
  }

  @Test
  void otherArchivesAreNamed() throws IOException {
    assertProblem(archive("}.", "a/constants.pkl"), Problem.MISMATCH, "TorchScript");
    assertProblem(
        archive("}.", "a/byteorder"),
        Problem.MISMATCH,
        "another order of bytes; load it in Python and save it again");
    assertDamaged(zipOf("a.npy", "b.npy"), "but with a.npy, b.npy, as numpy.savez writes: open it");
    assertDamaged(
        zipOf("word/document.xml"), "but with word/document.xml; save model.state_dict()");
    Files.write(path, new byte[100]);
    assertDamaged(path, "begins with 00 00 00 00 00 00 00 00, unlike a zip file");
    assertProblem(folder.resolve("none.pt"), Problem.MISSING, "no such file");
    assertProblem(folder, Problem.UNREADABLE, "must be a regular file, got a directory");
  }

  private Path zipOf(String... names) throws IOException {
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(path))) {
      for (String name : names) {
        zip.putNextEntry(new ZipEntry(name));
      }
    }
    return path;
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
