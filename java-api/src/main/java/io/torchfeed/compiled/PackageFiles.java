// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import static java.util.Objects.requireNonNull;

import io.torchfeed.compiled.CompiledModelException.Problem;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.RegularFile;
import io.torchfeed.internal.Sha256;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/**
 * The files of the compiled model in a {@code .pt2} package, unpacked.
 *
 * @param file the package
 * @param library the shared library; as Python has written it, until it is prepared
 * @param metadata the notes of Python on the compilation, and entries of its program
 */
record PackageFiles(Path file, Path library, Map<String, String> metadata) {
  private static final Pattern OF_MODEL =
      Pattern.compile("(?:[^/]+/)?data/aotinductor/([^/]+)/([^/]+)");

  private static final String LIBRARY = ".so";
  private static final String JSON = ".json"; // metadata, and operators that the library calls
  private static final String METADATA = "_metadata.json";
  private static final int MAX_METADATA = 1 << 20;

  /**
   * Unpacks the files of a package.
   *
   * @param folder receives them, in a folder that is named after the content of the library
   * @throws CompiledModelException if the file is malformed, or of another format
   */
  static PackageFiles unpack(Path file, Path folder) throws IOException {
    String kind = RegularFile.otherKind(file);
    if (kind != null) {
      throw new CompiledModelException(
          file, Problem.UNREADABLE, "it must be a regular file, got " + kind);
    }
    // A File, unlike a Path, loses characters of a name that the locale lacks.
    Path link = Files.createSymbolicLink(folder.resolve("package"), file.toAbsolutePath());
    try (ZipFile zip = new ZipFile(link.toFile())) {
      return unpack(file, zip, folder);
    } catch (ZipException | IllegalArgumentException e) { // the latter of ZipFile and JsonObject
      throw new CompiledModelException(
          file,
          Problem.DAMAGED,
          "it is no whole package of torch._inductor.aoti_compile_and_package: " + e.getMessage(),
          e);
    }
  }

  private static PackageFiles unpack(Path file, ZipFile zip, Path folder) throws IOException {
    Map<String, ZipEntry> files = new LinkedHashMap<>();
    Set<String> models = new TreeSet<>();
    for (ZipEntry entry : zip.stream().toList()) {
      Matcher matcher = OF_MODEL.matcher(entry.getName());
      if (matcher.matches()) {
        models.add(matcher.group(1));
        files.put(matcher.group(2), entry);
      }
    }
    if (files.isEmpty()) {
      throw mismatch(file, otherFormat(zip.stream().map(ZipEntry::getName).toList()));
    }
    if (models.size() > 1) {
      throw mismatch(
          file, "it must have one model, got " + Quotes.listed(", ", models) + "; package each");
    }
    List<String> libraries =
        files.keySet().stream().filter(name -> name.endsWith(LIBRARY)).toList();
    if (libraries.size() != 1) {
      throw mismatch(
          file,
          "it must have one shared library, got %s; package it with aot_inductor.package_cpp_only"
                  .formatted(libraries.size())
              + " off");
    }
    if (files.keySet().stream().anyMatch(name -> name.endsWith(".blob"))) {
      throw mismatch(
          file,
          "its weights are not in its library; package it with"
              + " aot_inductor.package_constants_in_so on");
    }
    return unpack(file, zip, files, libraries.get(0), folder);
  }

  private static PackageFiles unpack(
      Path file, ZipFile zip, Map<String, ZipEntry> entries, String library, Path folder)
      throws IOException {
    Path unnamed = Files.createDirectory(folder.resolve("unnamed"));
    Map<String, String> metadata = new LinkedHashMap<>();
    for (Map.Entry<String, ZipEntry> each : entries.entrySet()) {
      String name = each.getKey();
      if (name.endsWith(JSON)) {
        unpack(zip, each.getValue(), unnamed.resolve(name));
      }
      if (name.endsWith(METADATA)) {
        metadata.putAll(metadata(unnamed.resolve(name)));
      }
    }
    String digest = unpack(zip, requireNonNull(entries.get(library)), unnamed.resolve(library));
    Path named = Files.move(unnamed, folder.resolve(digest));
    return new PackageFiles(file, named.resolve(library), Map.copyOf(metadata));
  }

  private static CompiledModelException mismatch(Path file, String detail) {
    return new CompiledModelException(file, Problem.MISMATCH, detail);
  }

  private static String otherFormat(List<String> names) {
    String compile = "compile it by torch._inductor.aoti_compile_and_package";
    if (names.stream().anyMatch(name -> name.endsWith("/constants.pkl"))) {
      return "it is a TorchScript archive; export its module by torch.export.export, and "
          + compile;
    }
    if (names.stream().anyMatch(name -> name.matches("(?:[^/]+/)?models/[^/]+\\.json"))) {
      return "it is a program of torch.export.save, which is not compiled; " + compile;
    }
    if (names.stream().anyMatch(name -> name.endsWith("/data.pkl"))) {
      return "it is a file of torch.save; open it by TorchFile";
    }
    return "it is a zip archive without a compiled model; make it by"
        + " torch._inductor.aoti_compile_and_package";
  }

  private static Map<String, String> metadata(Path json) throws IOException {
    try (InputStream in = Files.newInputStream(json)) {
      byte[] text = in.readNBytes(MAX_METADATA);
      return JsonObject.parse("metadata", new String(text, StandardCharsets.UTF_8)).texts();
    }
  }

  /** Unpacks an entry, and returns its SHA-256 digest. */
  private static String unpack(ZipFile zip, ZipEntry entry, Path into) throws IOException {
    CRC32 checksum = new CRC32();
    MessageDigest digest = Sha256.start();
    try (InputStream in =
            new DigestInputStream(
                new CheckedInputStream(zip.getInputStream(entry), checksum), digest);
        OutputStream out = UnpackedFolder.create(into)) {
      long bytes = in.transferTo(out);
      if (bytes != entry.getSize() || checksum.getValue() != entry.getCrc()) {
        throw new ZipException(
            "entry %s differs from its checksum".formatted(Quotes.shortened(entry.getName())));
      }
    }
    return Sha256.hex(digest);
  }

  /**
   * Requires that this machine can run the library, and prepares it for that: a wrong one would end
   * the process.
   *
   * @throws CompiledModelException if it was compiled for another machine, or is cut off
   * @throws IOException if it cannot be read
   */
  void prepare() throws IOException {
    require("AOTI_DEVICE_KEY", "cpu");
    require("AOTI_PLATFORM", ThisMachine.platform());
    require("AOTI_MACHINE", ThisMachine.architecture());
    for (String set : metadata.getOrDefault("AOTI_CPU_ISA", "").split(" ", -1)) {
      if (!ThisMachine.hasInstructions(set)) {
        throw mismatch(
            file,
            ("it was compiled for a processor with %s, which this one lacks; compile it here, or"
                    + " with a smaller cpp.simdlen")
                .formatted(Quotes.shortened(set)));
      }
    }
    try {
      int machine = ElfHeader.prepare(library);
      if (machine != ThisMachine.elf()) {
        throw mismatch(
            file,
            "its shared library is for another processor, machine %s in ELF; compile it here"
                .formatted(machine));
      }
    } catch (ZipException | EOFException e) {
      throw new CompiledModelException(
          file, Problem.DAMAGED, "its shared library is malformed: " + e.getMessage(), e);
    }
  }

  private void require(String key, String expected) {
    String found = metadata.get(key);
    if (found == null) {
      throw mismatch(
          file, "its metadata lack %s; compile it with torch 2.10 or 2.13".formatted(key));
    }
    if (!found.equals(expected)) {
      throw mismatch(
          file,
          "%s must be %s, got %s; compile it for that"
              .formatted(key, expected, Quotes.shortened(found)));
    }
  }
}
