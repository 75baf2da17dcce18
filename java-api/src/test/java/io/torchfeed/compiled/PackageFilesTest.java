// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.compiled.CompiledModelException.Problem;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of the files that {@link CompiledModel#open} refuses. */
@ExtendWith(LeakCheck.class)
class PackageFilesTest {
  private final Path folder;
  private final Path file;

  PackageFilesTest(@TempDir Path folder) throws IOException {
    this.folder = folder;
    file = Packages.golden(folder, "2.10");
  }

  private void assertRefused(Path path, Problem problem, String message) {
    assertThatExceptionOfType(CompiledModelException.class)
        .isThrownBy(() -> CompiledModel.open(path).close())
        .withMessageStartingWith(path + ": ")
        .withMessageContaining(message)
        .satisfies(e -> assertThat(e.problem()).isEqualTo(problem))
        .satisfies(e -> assertThat((Object) e.path()).isEqualTo(path));
  }

  private static String nameOf(Map<String, byte[]> entries, String end) {
    return entries.keySet().stream().filter(name -> name.endsWith(end)).findFirst().orElseThrow();
  }

  /** Replaces an entry of the golden package. */
  private Path withEntry(String end, byte[] content) throws IOException {
    Map<String, byte[]> entries = Packages.entries(file);
    entries.put(nameOf(entries, end), content);
    return Packages.write(folder.resolve("changed.pt2"), entries);
  }

  private byte[] library() throws IOException {
    Map<String, byte[]> entries = Packages.entries(file);
    return requireNonNull(entries.get(nameOf(entries, ".so")));
  }

  @ParameterizedTest
  @CsvSource({
    "x/models/model.json, 'torch.export.save, which is not compiled; compile it by torch._ind'",
    "x/constants.pkl, 'a TorchScript archive; export its module by torch.export.export, and comp'",
    "x/data.pkl, 'a file of torch.save; open it by TorchFile'",
    "x/readme.txt, 'a zip archive without a compiled model; make it by'",
    "x/data/aotinductor/model/a.wrapper.cpp, 'one shared library, got 0; package it with aot_'",
  })
  void otherFormatsAreNamed(String entry, String message) throws IOException {
    Path other = Packages.write(folder.resolve("other.pt2"), Map.of(entry, new byte[4]));

    assertRefused(other, Problem.MISMATCH, message);
  }

  @Test
  void filesThatAreMissingOrNoArchivesAreNamed() throws IOException {
    assertRefused(folder.resolve("none.pt2"), Problem.MISSING, "there is no such file");
    assertRefused(folder, Problem.UNREADABLE, "it must be a regular file, got a directory");
    Path text = Files.writeString(folder.resolve("text.pt2"), "text");
    assertRefused(text, Problem.DAMAGED, "it is no whole package of torch._inductor");
    byte[] bytes = Files.readAllBytes(file);
    Path cut = Files.write(folder.resolve("cut.pt2"), Arrays.copyOf(bytes, bytes.length / 2));
    assertRefused(cut, Problem.DAMAGED, "it is no whole package of torch._inductor");
    Path archive = Packages.write(folder.resolve("a.zip"), Map.of("a.pt2", bytes));
    try (FileSystem zip = FileSystems.newFileSystem(archive)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> CompiledModel.open(zip.getPath("a.pt2")))
          .withMessageContaining("not in the default file system");
    }
  }

  @Test
  void aChangedByteOfTheLibraryIsFound() throws IOException {
    Path stored = withEntry(".so", new byte[1 << 20]);
    byte[] bytes = Files.readAllBytes(stored);
    byte[] name = Packages.bytes(nameOf(Packages.entries(file), ".so"));
    int at =
        new String(bytes, StandardCharsets.ISO_8859_1)
            .indexOf(new String(name, StandardCharsets.ISO_8859_1));
    bytes[at + name.length + 40] ^= 1; // in the compressed bytes
    Files.write(stored, bytes);

    assertRefused(stored, Problem.DAMAGED, "");
  }

  @ParameterizedTest
  @CsvSource({
    "AOTI_DEVICE_KEY, cuda, 'AOTI_DEVICE_KEY must be cpu, got cuda; compile it for that'",
    "AOTI_PLATFORM, darwin, 'AOTI_PLATFORM must be linux, got darwin'",
    "AOTI_MACHINE, s390x, 'got s390x'",
    "AOTI_CPU_ISA, AVX2 AVX9, 'a processor with AVX9, which this one lacks; compile it here'",
  })
  void otherMachinesAreNamed(String key, String value, String message) throws IOException {
    String json =
        new String(
            Packages.entries(file).get(nameOf(Packages.entries(file), "wrapper_metadata.json")),
            StandardCharsets.UTF_8);
    String changed =
        json.replaceAll(
            "\"%s\": \"[^\"]*\"".formatted(key), "\"%s\": \"%s\"".formatted(key, value));
    Map<String, byte[]> entries = Packages.entries(file);
    entries.replaceAll(
        (name, content) -> name.endsWith("_metadata.json") ? Packages.bytes(changed) : content);

    assertRefused(
        Packages.write(folder.resolve("changed.pt2"), entries), Problem.MISMATCH, message);
  }

  @Test
  void metadataThatAreMissingOrMalformedAreNamed() throws IOException {
    Map<String, byte[]> entries = Packages.entries(file);
    entries.keySet().removeIf(name -> name.endsWith("_metadata.json"));
    assertRefused(
        Packages.write(folder.resolve("none.pt2"), entries),
        Problem.MISMATCH,
        "its metadata lack AOTI_DEVICE_KEY; compile it with torch 2.10 or 2.13");
    assertRefused(
        withEntry("_metadata.json", Packages.bytes("{")),
        Problem.DAMAGED,
        "not a metadata in JSON");
  }

  @Test
  void librariesThatWouldEndTheProcessAreRefused() throws IOException {
    byte[] library = library();
    assertRefused(
        withEntry(".so", Arrays.copyOf(library, library.length / 2)),
        Problem.DAMAGED,
        "its shared library is malformed: it ends after");
    assertRefused(withEntry(".so", new byte[10]), Problem.DAMAGED, "it ends after 10 bytes");
    assertRefused(withEntry(".so", new byte[200]), Problem.DAMAGED, "it is no ELF file of 64 bits");
    library[18] = 40; // 32-bit ARM
    assertRefused(
        withEntry(".so", library),
        Problem.MISMATCH,
        "its shared library is for another processor, machine 40 in ELF; compile it here");
  }

  @Test
  void aLibraryThatIsNoModelsIsNamed() throws IOException {
    byte[] library = library();
    byte[] needle = Packages.bytes("AOTInductorModelContainerCreateWithDevice");
    String text = new String(library, StandardCharsets.ISO_8859_1);
    for (int at = text.indexOf(new String(needle, StandardCharsets.ISO_8859_1));
        at >= 0;
        at = text.indexOf(new String(needle, StandardCharsets.ISO_8859_1), at + 1)) {
      library[at] = 'B';
    }

    assertRefused(withEntry(".so", library), Problem.MISMATCH, "its library cannot be loaded: ");
  }

  @Test
  void severalModelsLibrariesOrWeightsElsewhereAreNamed() throws IOException {
    Map<String, byte[]> entries = Packages.entries(file);
    String model = "2.10/data/aotinductor/";
    entries.put(model + "second/a.so", new byte[1]);
    assertRefused(
        Packages.write(folder.resolve("models.pt2"), entries),
        Problem.MISMATCH,
        "it must have one model, got model, second");
    entries.remove(model + "second/a.so");
    entries.put(model + "model/weights.blob", new byte[1]);
    assertRefused(
        Packages.write(folder.resolve("blob.pt2"), entries),
        Problem.MISMATCH,
        "its weights are not in its library; package it with");
    entries.remove(model + "model/weights.blob");
    entries.put(model + "model/b.so", new byte[1]);
    assertRefused(
        Packages.write(folder.resolve("libraries.pt2"), entries),
        Problem.MISMATCH,
        "it must have one shared library, got 2");
  }
}
