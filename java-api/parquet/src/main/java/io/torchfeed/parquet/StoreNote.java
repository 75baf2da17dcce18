// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.parquet.ParquetException.Problem;
import java.io.IOException;
import java.io.Reader;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.function.IntFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The description of stored rows: the last file of a folder, which appears when all others are
 * complete.
 *
 * @param rows their number
 * @param columns of the rows
 * @param groups the rows and hash of each row group
 * @param identity of the columns and files
 */
record StoreNote(long rows, List<RowSpec> columns, List<Group> groups, List<String> identity) {
  static final String NAME = "rows.properties";
  private static final String VERSION = "1";

  /**
   * A row group.
   *
   * @param rows in it
   * @param hash of them, in hexadecimal
   */
  record Group(long rows, String hash) {}

  static Path column(Path folder, int number) {
    return folder.resolve("column-%d.npy".formatted(number));
  }

  List<StoredColumn> storedIn(Path folder) {
    List<StoredColumn> stored = new ArrayList<>();
    for (RowSpec row : columns) {
      stored.add(new StoredColumn(column(folder, stored.size()), row, rows));
    }
    return stored;
  }

  /** Returns a digest of the rows in their order, and of their groups. */
  String digest() {
    MessageDigest digest = SourceInput.sha256();
    digest.update(columns.toString().getBytes(StandardCharsets.UTF_8));
    for (Group group : groups) {
      digest.update(group.toString().getBytes(StandardCharsets.UTF_8));
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  void write(Path folder) throws IOException {
    Properties texts = new Properties();
    texts.setProperty("version", VERSION);
    texts.setProperty("digest", digest());
    texts.setProperty("rows", Long.toString(rows));
    for (int i = 0; i < columns.size(); i++) {
      RowSpec row = columns.get(i);
      String shape = row.shape().stream().map(String::valueOf).collect(Collectors.joining(" "));
      texts.setProperty("column." + i, row.dtype().name() + " " + row.name());
      texts.setProperty("shape." + i, shape);
    }
    for (int i = 0; i < groups.size(); i++) {
      texts.setProperty("group." + i, groups.get(i).rows() + " " + groups.get(i).hash());
    }
    for (int i = 0; i < identity.size(); i++) {
      texts.setProperty("plan." + i, identity.get(i));
    }
    StringWriter text = new StringWriter();
    texts.store(text, "rows that torchfeed-parquet has stored");
    replace(folder.resolve(NAME), text.toString());
  }

  /** Writes a file that has all of its content or does not exist. */
  static void replace(Path file, String text) throws IOException {
    Path temporary = Files.createTempFile(file.getParent(), file.getFileName() + ".", ".tmp");
    try {
      try (FileChannel channel = FileChannel.open(temporary, StandardOpenOption.WRITE)) {
        ByteBuffer bytes = StandardCharsets.UTF_8.encode(text);
        while (bytes.hasRemaining()) {
          channel.write(bytes);
        }
        channel.force(true);
      }
      Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(temporary);
    }
  }

  /**
   * Reads the note of a folder.
   *
   * @throws ParquetException if it has none, or another one than was written
   */
  static StoreNote read(Path folder) {
    Properties texts = new Properties();
    try (Reader in = Files.newBufferedReader(folder.resolve(NAME))) {
      texts.load(in);
      StoreNote note =
          new StoreNote(
              Long.parseLong(text(texts, "rows")),
              all(
                  texts,
                  "column.",
                  i -> row(text(texts, "column." + i), text(texts, "shape." + i))),
              all(texts, "group.", i -> group(text(texts, "group." + i))),
              all(texts, "plan.", i -> text(texts, "plan." + i)));
      if (text(texts, "version").equals(VERSION)
          && text(texts, "digest").equals(note.digest())
          && note.rows() == note.groups().stream().mapToLong(Group::rows).sum()) {
        return note;
      }
    } catch (NoSuchFileException e) {
      throw new ParquetException(
          Problem.FOLDER, folder + " has no stored rows, or storing them was interrupted", e);
    } catch (IOException e) {
      throw new ParquetException(
          Problem.FOLDER, "%s cannot be read: %s".formatted(folder, ParquetException.reason(e)), e);
    } catch (IllegalArgumentException e) {
      throw damaged(folder, e);
    }
    throw damaged(folder, null);
  }

  private static ParquetException damaged(Path folder, @Nullable Exception cause) {
    return new ParquetException(
        Problem.OTHER_ROWS,
        "%s is damaged, or of another version; delete the folder and store the rows again"
            .formatted(folder.resolve(NAME)),
        cause);
  }

  private static String text(Properties texts, String key) {
    String text = texts.getProperty(key);
    if (text == null) {
      throw new IllegalArgumentException(key + " is missing");
    }
    return text;
  }

  private static <T> List<T> all(Properties texts, String prefix, IntFunction<T> read) {
    List<T> all = new ArrayList<>();
    while (texts.getProperty(prefix + all.size()) != null) {
      all.add(read.apply(all.size()));
    }
    return List.copyOf(all);
  }

  private static RowSpec row(String text, String shape) {
    int space = text.indexOf(' ');
    long[] dimensions =
        Pattern.compile(" ")
            .splitAsStream(shape)
            .filter(each -> !each.isEmpty())
            .mapToLong(Long::parseLong)
            .toArray();
    return RowSpec.of(
        text.substring(space + 1), DType.valueOf(text.substring(0, space)), dimensions);
  }

  private static Group group(String text) {
    int space = text.indexOf(' ');
    return new Group(Long.parseLong(text.substring(0, space)), text.substring(space + 1));
  }
}
