// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.internal.Sha256;
import io.torchfeed.testing.GoldenLine;
import io.torchfeed.testing.LeakCheck;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests against files of numpy; see golden/npy_files.py. */
@ExtendWith(LeakCheck.class)
class NumpyFileTest {
  private static final int MUTATIONS = 400;

  private final Path folder;

  NumpyFileTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static Path golden(String name) throws URISyntaxException {
    return Path.of(
        requireNonNull(NumpyFileTest.class.getResource("/golden/npy/" + name), name).toURI());
  }

  private static byte[] bytes(Tensor tensor) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    try (PointerScope scope = new PointerScope()) {
      Tensor dense = tensor.contiguous();
      NativeBytes.forEach(
          dense.data_ptr(),
          dense.nbytes(),
          piece -> {
            byte[] copy = new byte[piece.remaining()];
            piece.get(copy);
            all.writeBytes(copy);
          });
    }
    return all.toByteArray();
  }

  private static String describe(String name, Tensor tensor) {
    byte[] bytes = bytes(tensor);
    return String.join(
        "\t",
        name,
        Arrays.toString(tensor.sizes().vec().get()),
        bytes.length > 1000 ? Sha256.hex(bytes) : HexFormat.of().formatHex(bytes));
  }

  /** The first record of the directory is as long as two, as after a flipped bit of its comment. */
  @Test
  void anArrayThatIsMissingInTheDirectoryIsNoticed() throws IOException {
    Path path = folder.resolve("two.npz");
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(path))) {
      zip.putNextEntry(new ZipEntry("a.npy"));
      zip.putNextEntry(new ZipEntry("b.npy"));
    }
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN);
    int end = bytes.capacity() - 22;
    int directory = bytes.getInt(end + 16);
    bytes.putShort(directory + 32, (short) ((end - directory) / 2));
    Files.write(path, bytes.array());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> NumpyFile.open(path))
        .withMessage(
            "%s must be a whole zip archive, as an npz file is, got one of 2 members whose"
                + " directory has 1",
            path);
  }

  @ParameterizedTest
  @ValueSource(strings = {"arrays.npz", "compressed.npz"})
  void arraysHaveTheShapesAndValuesOfNumpy(String name) throws Exception {
    NumpyFile file = NumpyFile.open(golden(name));
    List<String> read = new ArrayList<>();
    for (String array : file.names()) {
      try (Tensor tensor = file.read(array)) {
        read.add(describe(array, tensor));
      }
    }
    assertThat(read).isEqualTo(GoldenLine.read("numpy_files.txt"));
  }

  @Test
  void anArrayInFortranOrderKeepsItsStrides() throws Exception {
    try (Tensor tensor = NumpyFile.open(golden("arrays.npz")).read("fortran")) {
      assertThat(tensor.strides().vec().get()).containsExactly(1, 7, 14);
    }
  }

  @Test
  void anNpyFileHasOneArrayWithoutAName() throws Exception {
    NumpyFile file = NumpyFile.open(golden("refused_fortran.npy"));
    assertThat(file.names()).containsExactly("");
    try (Tensor tensor = file.read("");
        Tensor same = NumpyFile.open(golden("arrays.npz")).read("fortran")) {
      assertThat(tensor.equal(same)).isTrue();
    }
  }

  /** Reads all rows of a column by a loader. */
  private static byte[] rows(FileColumn column) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    try (FileDataset data = FileDataset.of(column);
        DataLoader loader = DataLoader.over(data).batchSize(3).build()) {
      for (Batch batch : loader.epoch(0)) {
        all.writeBytes(bytes(batch.tensor(0)));
      }
    }
    return all.toByteArray();
  }

  @ParameterizedTest
  @ValueSource(strings = {"f4_little", "c8_big", "b1_byte", "column", "row", "many"})
  void rowsOfAStoredArrayAreReadInPlace(String name) throws Exception {
    Path path = golden("arrays.npz");
    try (Tensor tensor = NumpyFile.open(path).read(name)) {
      assertThat(rows(FileColumn.npz(name, path, path)))
          .isEqualTo(join(bytes(tensor), bytes(tensor)));
    }
  }

  private static byte[] join(byte[] first, byte[] second) {
    byte[] joined = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, joined, first.length, second.length);
    return joined;
  }

  @ParameterizedTest
  @ValueSource(strings = {"column", "row"})
  void rowsInFortranOrderAreReadWhereTheyAreContiguous(String name) throws Exception {
    try (Tensor tensor = NumpyFile.open(golden("arrays.npz")).read(name)) {
      assertThat(rows(FileColumn.npy(golden("fortran_" + name + ".npy")))).isEqualTo(bytes(tensor));
    }
    assertThat(FileColumn.npy(golden("fortran_none.npy")).rows()).isEqualTo(7);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "arrays.npz | x | must have the member x.npy, got b1_byte.npy, ",
        "arrays.npz | fortran | fortran_order: True; save numpy.ascontiguousarray of it, or read",
        "arrays.npz | number | must have a dimension of rows",
        "compressed.npz | many | read it by NumpyFile, or save it by numpy.savez",
        "labels.npy | x | an npy file of numpy.save",
      })
  void otherColumnsOfNpzAreRefused(String file, String array, String message) throws Exception {
    Path path = golden(file);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FileColumn.npz(array, path))
        .withMessageStartingWith(path.toString())
        .withMessageContaining(message);
  }

  @Test
  void otherFilesAndNamesAreRefused() throws Exception {
    NumpyFile file = NumpyFile.open(golden("arrays.npz"));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> file.read("x"))
        .withMessageContaining("must have the array x, got b1_byte, ");
    Path other = Files.writeString(folder.resolve("other"), "<html>");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> NumpyFile.open(other))
        .withMessageContaining("a web page in the place of the file");
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> NumpyFile.open(folder.resolve("none")));
  }

  private static void assertRefused(Path path, String message) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> NumpyFile.open(path).read(""))
        .withMessageStartingWith(path.toString())
        .withMessageContaining(message);
  }

  @Test
  void otherContentIsNamedWithTheCure() throws Exception {
    Path path = folder.resolve("other.npz");
    Files.writeString(path, "# xet version 0\nfilesize = 9\n");
    assertRefused(path, "a Git-Xet pointer in the place of the file");
    Files.writeString(path, "Not Found");
    assertRefused(
        path,
        "must be a file of numpy.save or a whole zip archive, as numpy.savez writes, got 4e 6f 74"
            + " 20 46 6f 75 6e, a text that begins with \"Not Found\"");
    byte[] whole = Files.readAllBytes(golden("arrays.npz"));
    Files.write(path, Arrays.copyOf(whole, whole.length / 2));
    assertRefused(path, "got the begin of one without its end; write or download it again");
  }

  @Test
  void otherArchivesAreNamed() throws Exception {
    Path path = folder.resolve("other.npz");
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(path))) {
      zip.putNextEntry(new ZipEntry("model/data.pkl"));
    }
    assertRefused(path, "a zip archive of model/data.pkl; a file of torch.save is opened by");
    new ZipOutputStream(Files.newOutputStream(path)).close();
    assertThat(NumpyFile.open(path).names()).isEmpty(); // as numpy.savez of nothing
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FileColumn.npz("a", path))
        .withMessageEndingWith("must have the member a.npy, got an empty archive");
  }

  @Test
  void anEmptyArrayWhoseStridesOverflowIsRefused() throws Exception {
    String header = "{'descr': '<f4', 'fortran_order': False, 'shape': (0, %d, 4), }\n";
    byte[] text = header.formatted(1L << 62).getBytes(StandardCharsets.US_ASCII);
    Path path = folder.resolve("empty.npy");
    try (OutputStream out = Files.newOutputStream(path)) {
      out.write(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (byte) text.length, 0});
      out.write(text);
    }
    assertRefused(path, "a shape with strides below 2^63, got the shape [0, 4611686018427387904");
  }

  /** Changed bytes give the arrays or an exception of the two kinds, and no other. */
  @ParameterizedTest
  @ValueSource(strings = {"refused_archive.npz", "compressed.npz"})
  void changedFilesAreReadOrRefused(String name) throws Exception {
    byte[] whole = Files.readAllBytes(golden(name));
    Path path = folder.resolve(name);
    Random random = new Random(7);
    int refused = 0;
    for (int i = 0; i < MUTATIONS; i++) {
      byte[] bytes = whole.clone();
      for (int change = random.nextInt(3); change >= 0; change--) {
        int near = random.nextBoolean() ? Math.min(400, bytes.length) : bytes.length;
        int at = random.nextInt(near);
        bytes[random.nextBoolean() ? at : bytes.length - 1 - at] = (byte) random.nextInt();
      }
      Files.write(path, random.nextInt(8) > 0 ? bytes : Arrays.copyOf(bytes, bytes.length / 2));
      refused += isRefused(path, i) ? 1 : 0;
    }
    assertThat(refused).isGreaterThan(MUTATIONS / 10);
  }

  private static boolean isRefused(Path path, int number) throws IOException {
    try {
      NumpyFile file = NumpyFile.open(path);
      for (String array : file.names()) {
        file.read(array).close();
      }
      return false;
    } catch (IllegalArgumentException e) {
      return true;
    } catch (RuntimeException | Error e) {
      throw new AssertionError("file " + number, e);
    }
  }
}
