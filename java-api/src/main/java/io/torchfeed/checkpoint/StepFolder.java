// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.Manifest.SavedFile;
import io.torchfeed.checkpoint.Manifest.SavedPart;
import io.torchfeed.internal.FileReplacement;
import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.Sha256;
import io.torchfeed.internal.saving.Aside;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.bytedeco.pytorch.Tensor;

/**
 * The files of one checkpoint: {@code manifest.json}, its digest, and for each part that has
 * tensors one file, or one for each rank.
 *
 * @param path the folder
 */
record StepFolder(Path path) {
  private static final String MANIFEST = "manifest.json";

  /** Has the digest of the manifest in the format of {@code sha256sum}. */
  private static final String DIGEST = "manifest.sha256";

  private static final int PIECE = 1 << 16;
  private static final long MAX_MANIFEST_BYTES = 1 << 28;

  /**
   * Writes the files of one rank and flushes them; returns all parts of this rank.
   *
   * @param fileNames the files of parts, where these are not named after the part
   */
  Map<String, SavedPart> writeTensors(StateCopy.Copy copy, Map<String, String> fileNames)
      throws IOException {
    Map<String, SavedPart> parts = new LinkedHashMap<>();
    for (Map.Entry<String, StateDict> part : copy.parts().entrySet()) {
      StateDict state = part.getValue();
      String name = part.getKey();
      List<SavedFile> files =
          state.tensors().isEmpty()
              ? List.of()
              : List.of(
                  write(fileNames.getOrDefault(name, Manifest.fileName(name)), state.tensors()));
      parts.put(name, new SavedPart(state.json(), files, Manifest.UNKNOWN));
    }
    return parts;
  }

  /** Writes the manifest and flushes the folder, which then is complete. */
  void writeManifest(Manifest manifest) throws IOException {
    byte[] bytes = manifest.toJson().getBytes(StandardCharsets.UTF_8);
    String digest = Sha256.hex(bytes) + "  " + MANIFEST + "\n";
    writeBytes(MANIFEST, bytes);
    writeBytes(DIGEST, digest.getBytes(StandardCharsets.US_ASCII));
    FileReplacement.flushFolder(path);
  }

  private SavedFile write(String name, Map<String, Tensor> tensors) throws IOException {
    SafetensorsWriter writer = new SafetensorsWriter(tensors, Map.of("format", "pt"));
    try (FileChannel channel = create(name);
        Aside<String> digest = Aside.start("torchfeed-digest", writer::sha256)) {
      writer.write(channel);
      channel.force(true);
      return new SavedFile(name, writer.size(), digest.await());
    }
  }

  void writeBytes(String name, byte[] bytes) throws IOException {
    if (bytes.length > MAX_MANIFEST_BYTES) {
      throw new IOException(
          "%s must have at most %d bytes, got %d"
              .formatted(name, MAX_MANIFEST_BYTES, bytes.length));
    }
    try (FileChannel channel = create(name)) {
      ByteBuffer left = ByteBuffer.wrap(bytes);
      while (left.hasRemaining()) {
        channel.write(left);
      }
      channel.force(true);
    }
  }

  private FileChannel create(String name) throws IOException {
    return FileChannel.open(
        path.resolve(name), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
  }

  /**
   * Reads the manifest and checks the digests of all files that a rank needs.
   *
   * @throws CheckpointException if a file is missing or differs
   */
  Manifest verify(Part rank) {
    Manifest manifest = manifest();
    manifest.of(rank).forEach(this::verify);
    return manifest;
  }

  /**
   * Checks the manifest and the digests of the files of all ranks.
   *
   * @throws CheckpointException if a file is missing or differs
   */
  void verify() {
    Manifest manifest = manifest();
    manifest.parts().forEach(this::verify);
    manifest.own().forEach((name, ofRanks) -> ofRanks.forEach(part -> verify(name, part)));
  }

  private void verify(String name, SavedPart part) {
    part.files().forEach(this::verify);
    requireTensors(name, part);
  }

  private Manifest manifest() {
    byte[] bytes = readSmall(path.resolve(MANIFEST));
    String expected =
        new String(readSmall(path.resolve(DIGEST)), StandardCharsets.US_ASCII).split(" ", 2)[0];
    if (!Sha256.hex(bytes).equals(expected)) {
      throw damaged(MANIFEST, "its SHA-256 is not the one in " + DIGEST);
    }
    String text = new String(bytes, StandardCharsets.UTF_8);
    try {
      Manifest manifest = Manifest.parse(text);
      manifest.requireAllFiles();
      return manifest;
    } catch (IllegalArgumentException e) {
      Problem problem = Manifest.isOfOtherVersion(text) ? Problem.MISMATCH : Problem.DAMAGED;
      throw new CheckpointException(
          path.resolve(MANIFEST), problem, String.valueOf(e.getMessage()), e);
    }
  }

  /** Checks that a part in several files has each of its tensors once. */
  private void requireTensors(String part, SavedPart saved) {
    if (saved.files().size() < 2) {
      return;
    }
    Set<String> names = new HashSet<>();
    for (SavedFile each : saved.files()) {
      try (SafetensorsFile file = SafetensorsFile.open(path.resolve(each.name()))) {
        for (String name : file.names()) {
          if (!names.add(name)) {
            throw damaged(
                each.name(),
                "the tensor %s is in another file of the part, too"
                    .formatted(Quotes.shortened(name)));
          }
        }
      }
    }
    if (saved.tensors() != Manifest.UNKNOWN && saved.tensors() != names.size()) {
      throw damaged(
          MANIFEST,
          "the part %s must have %d tensors, its files have %d"
              .formatted(part, saved.tensors(), names.size()));
    }
  }

  private void verify(SavedFile file) {
    Path saved = path.resolve(file.name());
    MessageDigest digest = Sha256.start();
    try (FileChannel channel = SavedBytes.open(saved)) {
      if (channel.size() != file.bytes()) {
        throw damaged(
            file.name(), "it must have %d bytes, got %d".formatted(file.bytes(), channel.size()));
      }
      ByteBuffer piece = ByteBuffer.allocate(PIECE);
      while (channel.read(piece.clear()) >= 0) {
        digest.update(piece.flip());
      }
    } catch (IOException e) {
      throw CheckpointException.unreadable(saved, e);
    }
    if (!Sha256.hex(digest).equals(file.sha256())) {
      throw damaged(file.name(), "its SHA-256 is not the one in " + MANIFEST);
    }
  }

  /** Returns the metric; empty if there is none, or the manifest cannot be read. */
  Optional<Metric> metric() {
    try {
      return Optional.ofNullable(manifest().metric());
    } catch (CheckpointException e) {
      return Optional.empty();
    }
  }

  /**
   * Reads the manifest of some of the parts that all ranks share, and checks their files.
   *
   * @throws CheckpointException if a part or a file is missing, or a file differs
   */
  Manifest verify(Set<String> parts) {
    try {
      Manifest manifest = manifest().only(parts);
      manifest.parts().forEach(this::verify);
      return manifest;
    } catch (IllegalArgumentException e) {
      throw new CheckpointException(path, Problem.MISMATCH, String.valueOf(e.getMessage()), e);
    }
  }

  /**
   * Loads the parts of a rank from verified files.
   *
   * @throws CheckpointException if it is of other parts, or a part refuses its state
   */
  void load(Manifest manifest, TrainingState state, Part rank) {
    String part = "";
    try {
      state.requireNames(Set.copyOf(manifest.names()));
      for (Map.Entry<String, SavedPart> saved : manifest.of(rank).entrySet()) {
        part = "part " + saved.getKey() + ": ";
        try (StateDict dict = read(saved.getValue())) {
          state.load(saved.getKey(), dict);
        }
      }
    } catch (IllegalArgumentException e) {
      throw new CheckpointException(path, Problem.MISMATCH, part + e.getMessage(), e);
    }
  }

  /** Reads a part; the caller closes it. */
  private StateDict read(SavedPart part) {
    Map<String, Tensor> tensors = new TreeMap<>();
    StateDict state = StateDict.owning(part.json(), tensors);
    try {
      for (SavedFile saved : part.files()) {
        try (SafetensorsFile file = SafetensorsFile.open(path.resolve(saved.name()))) {
          for (String name : file.names()) {
            tensors.put(name, file.read(name));
          }
        }
      }
      return state;
    } catch (RuntimeException | Error e) {
      state.close();
      throw e;
    }
  }

  private byte[] readSmall(Path file) {
    try (FileChannel channel = SavedBytes.open(file)) {
      long size = channel.size();
      if (size > MAX_MANIFEST_BYTES) {
        throw damaged(
            String.valueOf(file.getFileName()),
            "it must have at most %d bytes, got %d".formatted(MAX_MANIFEST_BYTES, size));
      }
      return Channels.newInputStream(channel).readAllBytes();
    } catch (IOException e) {
      throw CheckpointException.unreadable(file, e);
    }
  }

  private CheckpointException damaged(String file, String detail) {
    return new CheckpointException(path.resolve(file), Problem.DAMAGED, detail);
  }
}
