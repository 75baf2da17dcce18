// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.parquet.ParquetException.Problem;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A folder in which rows are being stored: a file for each column, where each piece has its place
 * from the start, and a mark for each piece that is complete.
 *
 * <p>Marks are not synchronized with the disk. They are trusted if the machine has not been started
 * since; otherwise the rows of a mark must have its hash.
 */
final class StoreFolder implements AutoCloseable {
  private static final String BUILDING = "building";
  private static final String PLAN = "plan";
  private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");
  private static final int PIECE = 1 << 20;

  private final Path folder;
  private final Path building;
  private final StorePlan plan;
  private final List<StoredColumn> columns;
  private final List<FileChannel> channels = new ArrayList<>();
  private final Claims claims;
  private final String boot;

  private StoreFolder(Path folder, StorePlan plan) throws IOException {
    this.folder = folder;
    this.plan = plan;
    building = folder.resolve(BUILDING);
    columns = plan.storedIn(folder);
    boot = boot();
    agree();
    claims = Claims.open(building.resolve("claims"));
    for (StoredColumn column : columns) {
      FileChannel channel =
          FileChannel.open(
              column.file(),
              StandardOpenOption.CREATE,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE);
      channels.add(channel);
      write(channel, column.header(), 0);
    }
  }

  /**
   * Prepares a folder.
   *
   * @return null if it has all of the rows
   * @throws ParquetException if it has something else
   */
  static @Nullable StoreFolder open(Path folder, StorePlan plan) throws IOException {
    Files.createDirectories(folder);
    if (isComplete(folder)) {
      return null;
    }
    requireOwn(folder);
    Files.createDirectories(folder.resolve(BUILDING));
    if (isComplete(folder)) { // by another process, meanwhile
      delete(folder.resolve(BUILDING));
      return null;
    }
    try {
      return new StoreFolder(folder, plan);
    } catch (NoSuchFileException e) {
      if (isComplete(folder)) {
        return null;
      }
      throw e;
    }
  }

  private static boolean isComplete(Path folder) {
    return Files.exists(folder.resolve(StoreNote.NAME));
  }

  boolean isComplete() {
    return isComplete(folder);
  }

  /** Requires a folder that is empty, or one of stored rows. */
  private static void requireOwn(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      List<String> names = files.map(file -> String.valueOf(file.getFileName())).toList();
      if (!names.isEmpty() && !names.contains(BUILDING) && !names.contains(StoreNote.NAME)) {
        throw new ParquetException(
            Problem.OTHER_ROWS,
            "%s must be a new or empty folder, or have stored rows, got one with %s"
                .formatted(folder, names.get(0)));
      }
    }
  }

  /** Requires that all who store here have the same plan. */
  private void agree() throws IOException {
    Path file = building.resolve(PLAN);
    if (!Files.exists(file)) {
      StoreNote.replace(file, String.join("\n", plan.identity()));
    }
    plan.requireSame(folder, List.of(Files.readString(file).split("\n", -1)));
  }

  private static String boot() throws IOException {
    return Files.exists(BOOT) ? Files.readString(BOOT).strip() : "unknown";
  }

  Claims claims() {
    return claims;
  }

  /** Writes rows of a column; returns nothing before they are in the file. */
  void write(int column, long row, ByteBuffer bytes) throws IOException {
    write(channels.get(column), bytes, columns.get(column).offset(row));
  }

  static void write(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
    long at = position;
    while (bytes.hasRemaining()) {
      at += channel.write(bytes, at);
    }
  }

  private Path mark(StorePlan.Piece piece) {
    return building.resolve("group-" + piece.number());
  }

  /** Marks a piece as complete. */
  void mark(StorePlan.Piece piece, String hash) throws IOException {
    try {
      StoreNote.replace(mark(piece), hash + " " + boot);
    } catch (NoSuchFileException e) {
      if (!isComplete()) { // another process has stored it, too, and has deleted the marks
        throw e;
      }
    }
  }

  /** Returns the hash of a piece that is complete, or null. */
  @Nullable String marked(StorePlan.Piece piece) throws IOException {
    List<String> mark;
    try {
      mark = List.of(Files.readString(mark(piece)).split(" ", -1));
    } catch (NoSuchFileException e) {
      return null;
    }
    String hash = mark.get(0);
    boolean isTrusted = mark.get(mark.size() - 1).equals(boot) && !boot.equals("unknown");
    return isTrusted || hash(columns, piece.firstRow(), piece.group().rows()).equals(hash)
        ? hash
        : null;
  }

  /** Returns the hash of rows in files; of nothing if a file is too short. */
  static String hash(List<StoredColumn> columns, long firstRow, long rows) throws IOException {
    MessageDigest all = SourceInput.sha256();
    ByteBuffer bytes = ByteBuffer.allocate(PIECE);
    for (StoredColumn column : columns) {
      MessageDigest own = SourceInput.sha256();
      try (FileChannel channel = FileChannel.open(column.file(), StandardOpenOption.READ)) {
        long at = column.offset(firstRow);
        long end = column.offset(firstRow + rows);
        while (at < end) {
          bytes.clear().limit((int) Math.min(PIECE, end - at));
          int count = channel.read(bytes, at);
          if (count < 1) {
            return "";
          }
          own.update(bytes.flip());
          at += count;
        }
      }
      all.update(own.digest());
    }
    return HexFormat.of().formatHex(all.digest());
  }

  /**
   * Completes the folder, once all pieces are marked.
   *
   * @return false if another process does
   */
  boolean finish(List<StoreNote.Group> groups) throws IOException {
    try (var claim = claims.claim(plan.pieces().size())) {
      if (claim == null) {
        return false;
      }
      if (!isComplete()) {
        for (FileChannel channel : channels) {
          channel.force(true);
        }
        new StoreNote(plan.rows(), plan.columns(), groups, plan.identity()).write(folder);
      }
      delete(building);
      return true;
    }
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.deleteIfExists(file);
      }
    } catch (NoSuchFileException e) {
      return;
    }
    Files.deleteIfExists(folder);
  }

  @Override
  public void close() throws IOException {
    for (FileChannel channel : channels) {
      channel.close();
    }
    claims.close();
  }
}
