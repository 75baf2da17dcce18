// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.Manifest.SavedFile;
import io.torchfeed.checkpoint.Manifest.SavedPart;
import io.torchfeed.internal.BlockSums;
import io.torchfeed.internal.BlockSums.Kind;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.FileReplacement;
import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.Sha256;
import io.torchfeed.internal.saving.Lanes;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;

/**
 * The files of one checkpoint: {@code manifest.json}, its digest, and for each part that has
 * tensors one file, or one for each rank.
 *
 * @param path the folder
 */
record StepFolder(Path path) {
  /**
   * The parts of a checkpoint in memory, which fit their digests.
   *
   * @param path of the checkpoint
   * @param states by the names of the parts
   */
  record SavedParts(Path path, Manifest manifest, Map<String, StateDict> states)
      implements AutoCloseable {
    /**
     * Checks all parts, then loads them, and frees each once it is loaded.
     *
     * @throws CheckpointException if the state has other parts, or a part refuses its state
     */
    void load(TrainingState state) {
      String part = "";
      try {
        state.requireNames(Set.copyOf(manifest.names()));
        for (Map.Entry<String, StateDict> saved : states.entrySet()) {
          part = "part " + saved.getKey() + ": ";
          state.check(saved.getKey(), saved.getValue());
        }
        for (String name : state.inOrder(states.keySet())) {
          part = "part " + name + ": ";
          try (StateDict dict = requireNonNull(states.get(name))) {
            state.load(name, dict);
          }
        }
      } catch (IllegalArgumentException e) {
        throw new CheckpointException(path, Problem.MISMATCH, part + e.getMessage(), e);
      }
    }

    @Override
    public void close() {
      states.values().forEach(StateDict::close);
    }
  }

  private static final String MANIFEST = "manifest.json";

  /** Has the digest of the manifest in the format of {@code sha256sum}. */
  private static final String DIGEST = "manifest.sha256";

  private static final String CURE =
      "; it was damaged or replaced: restore it, or delete its folder to continue from the one"
          + " before";

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
    BlockSums sums = BlockSums.of(Kind.CRC32C);
    try (FileChannel channel = create(name)) {
      writer.write(channel, sums::add);
      channel.force(true);
      return new SavedFile(name, writer.size(), sums.kind(), sums.finish());
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
   * Reads the parts of a rank from files that fit their digests; the caller closes them.
   *
   * @throws CheckpointException if a file is missing or differs
   */
  SavedParts read(Part rank) {
    Manifest manifest = manifest();
    return read(manifest, manifest.of(rank));
  }

  /**
   * Reads some of the parts that all ranks share, as {@link #read(Part)}.
   *
   * @throws CheckpointException if a part or a file is missing, or a file differs
   */
  SavedParts read(Set<String> parts) {
    Manifest manifest;
    try {
      manifest = manifest().only(parts);
    } catch (IllegalArgumentException e) {
      throw new CheckpointException(path, Problem.MISMATCH, String.valueOf(e.getMessage()), e);
    }
    return read(manifest, manifest.parts());
  }

  private SavedParts read(Manifest manifest, Map<String, SavedPart> parts) {
    List<SavedFile> files = parts.values().stream().flatMap(each -> each.files().stream()).toList();
    List<Map<String, Tensor>> tensors = new ArrayList<>();
    files.forEach(each -> tensors.add(new LinkedHashMap<>()));
    try {
      List<Runnable> blocks = new ArrayList<>();
      for (int i = 0; i < files.size(); i++) {
        blocks.addAll(blocks(files.get(i), tensors.get(i)));
      }
      Lanes.run("torchfeed-read", Lanes.most(), blocks.size(), i -> blocks.get(i).run());
      Map<String, StateDict> states = new LinkedHashMap<>();
      int next = 0;
      for (Map.Entry<String, SavedPart> part : parts.entrySet()) {
        int end = next + part.getValue().files().size();
        states.put(
            part.getKey(), joined(part.getKey(), part.getValue(), tensors.subList(next, end)));
        next = end;
      }
      return new SavedParts(path, manifest, states);
    } catch (RuntimeException | Error e) {
      tensors.forEach(each -> each.values().forEach(Tensor::close));
      throw e;
    }
  }

  /** Returns the state of a part, which owns the tensors of its files. */
  private StateDict joined(String name, SavedPart part, List<Map<String, Tensor>> files) {
    requireTensors(name, part, files.stream().map(Map::keySet).toList());
    Map<String, Tensor> tensors = new TreeMap<>();
    files.forEach(tensors::putAll);
    try {
      return StateDict.owning(part.json(), tensors).given();
    } catch (IllegalArgumentException e) {
      throw new CheckpointException(
          path, Problem.MISMATCH, "part %s: %s".formatted(name, e.getMessage()), e);
    }
  }

  /**
   * Makes memory for the tensors of a file.
   *
   * @param into receives the tensors, also after a failure
   * @return tasks that read and check a block each; the first one has the end of the header
   */
  private List<Runnable> blocks(SavedFile saved, Map<String, Tensor> into) {
    BlockSums head = BlockSums.of(saved.kind());
    try (SafetensorsFile file = open(saved, head)) {
      requireSize(saved, file.bytes());
      file.allocate(into);
      Kind kind = saved.kind();
      int first = (int) ((file.dataStart() - 1) / kind.blockBytes());
      return IntStream.range(first, saved.sums().size())
          .<Runnable>mapToObj(
              at -> () -> read(saved, file, at, into, at == first ? head : BlockSums.of(kind)))
          .toList();
    }
  }

  private void read(
      SavedFile saved, SafetensorsFile file, int at, Map<String, Tensor> into, BlockSums sums) {
    long size = saved.kind().blockBytes();
    long from = Math.max(at * size, file.dataStart());
    file.read(from, Math.min((at + 1) * size, saved.bytes()), into, sums::add);
    List<String> made = sums.finish();
    requireSums(saved, at + 1 - made.size(), made);
  }

  /** Opens a file; where its header is malformed, its size or digest tells why. */
  private SafetensorsFile open(SavedFile saved, BlockSums sums) {
    try {
      return SafetensorsFile.open(path.resolve(saved.name()), sums::add);
    } catch (CheckpointException e) {
      if (e.problem() == Problem.DAMAGED) {
        verify(saved);
      }
      throw e;
    }
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
    List<Set<String>> names = new ArrayList<>();
    for (SavedFile each : part.files()) {
      try (SafetensorsFile file = SafetensorsFile.open(path.resolve(each.name()))) {
        names.add(file.names());
      }
    }
    requireTensors(name, part, names);
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
      requireName(Checks.requireAtLeastZero("step", manifest.step()));
      return manifest;
    } catch (IllegalArgumentException e) {
      Problem problem = Manifest.isOfOtherVersion(text) ? Problem.MISMATCH : Problem.DAMAGED;
      throw new CheckpointException(
          path.resolve(MANIFEST),
          problem,
          e.getMessage() + (problem == Problem.DAMAGED ? CURE : ""),
          e);
    }
  }

  private void requireName(long step) {
    String name = CheckpointFolder.nameOf(step);
    if (!path.endsWith(name)) {
      throw new CheckpointException(
          path,
          Problem.DAMAGED,
          "it has the state after %d steps; give the folder its name %s back, or delete it"
              .formatted(step, name));
    }
  }

  /**
   * Checks that a part in several files has each of its tensors once.
   *
   * @param names the tensors of each file
   */
  private void requireTensors(String part, SavedPart saved, List<Set<String>> names) {
    if (names.size() < 2) {
      return;
    }
    Set<String> all = new HashSet<>();
    for (int i = 0; i < names.size(); i++) {
      for (String name : names.get(i)) {
        if (!all.add(name)) {
          throw damaged(
              saved.files().get(i).name(),
              "the tensor %s is in another file of the part, too"
                  .formatted(Quotes.shortened(name)));
        }
      }
    }
    if (saved.tensors() != Manifest.UNKNOWN && saved.tensors() != all.size()) {
      throw damaged(
          MANIFEST,
          "the part %s must have %d tensors, its files have %d"
              .formatted(part, saved.tensors(), all.size()));
    }
  }

  private void verify(SavedFile file) {
    Path saved = path.resolve(file.name());
    BlockSums sums = BlockSums.of(file.kind());
    try (FileChannel channel = SavedBytes.open(saved)) {
      requireSize(file, channel.size());
      ByteBuffer piece = ByteBuffer.allocate(PIECE);
      while (channel.read(piece.clear()) >= 0) {
        sums.add(piece.flip());
      }
      requireSize(file, channel.position());
    } catch (IOException e) {
      throw CheckpointException.unreadable(saved, e);
    }
    requireSums(file, 0, sums.finish());
  }

  private void requireSize(SavedFile file, long bytes) {
    if (bytes != file.bytes()) {
      throw damaged(file.name(), "it must have %d bytes, got %d".formatted(file.bytes(), bytes));
    }
  }

  /** Checks the digests of some blocks. */
  private void requireSums(SavedFile file, int first, List<String> sums) {
    for (int i = 0; i < sums.size(); i++) {
      if (!sums.get(i).equals(file.sums().get(first + i))) {
        String digest = file.kind().describe(first + i, file.sums().size());
        throw damaged(file.name(), "its %s is not the one in %s".formatted(digest, MANIFEST));
      }
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
    return new CheckpointException(path.resolve(file), Problem.DAMAGED, detail + CURE);
  }
}
