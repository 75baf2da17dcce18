// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.text.LineOptions;
import io.torchfeed.text.TextPartition;
import io.torchfeed.text.TextState;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/** The text files of golden/states_9842441.txt, and their divisions among ranks by name. */
final class LegacyTexts {
  private LegacyTexts() {}

  /** Returns the division of a text among ranks. */
  static TextPartition text(String name, Path folder, int worldSize) {
    return switch (name) {
      case "one-file" -> TextPartition.plan(paths(folder, "a.txt"), worldSize);
      case "several-files" ->
          TextPartition.plan(paths(folder, "a.txt", "b.txt", "c.txt", "d.txt"), worldSize);
      case "folder" -> TextPartition.plan(List.of(folder.toString()), worldSize);
      case "gzip" -> TextPartition.plan(paths(folder, "a.txt", "e.txt.gz"), worldSize);
      case "zstd" -> TextPartition.plan(paths(folder, "f.txt.zst", "a.txt"), worldSize);
      case "returns-kept" -> TextPartition.plan(paths(folder, "b.txt"), worldSize);
      case "small-buffer" -> TextPartition.plan(paths(folder, "d.txt", "a.txt"), worldSize);
      case "edges", "edges-stolen" ->
          TextPartition.plan(paths(folder, "a.txt", "b.txt"), worldSize, 32);
      case "edges-dealt" ->
          TextPartition.plan(paths(folder, "a.txt", "b.txt"), worldSize, 32).roundRobin();
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** Returns the options with which the lines of a text are read. */
  static LineOptions lineOptions(String name) {
    return switch (name) {
      case "returns-kept" ->
          LineOptions.defaults().withCarriageReturn(LineOptions.CarriageReturn.KEEP);
      case "small-buffer" -> LineOptions.defaults().withBufferBytes(64).withMaxLineBytes(1000);
      default -> LineOptions.defaults();
    };
  }

  /** Returns the division of the rest of a text. */
  static TextPartition rest(String name, Path folder, List<TextState> states, int worldSize) {
    return name.equals("edges-stolen")
        ? text(name, folder, worldSize).steal(states)
        : text(name, folder, worldSize).resume(states, worldSize);
  }

  /** Writes the text files. The header of golden/states_9842441.txt describes them. */
  static void writeFiles(Path folder) throws IOException {
    Files.write(folder.resolve("a.txt"), numbered(0, 30, "\n"));
    String marked = "\uFEFF" + new String(numbered(100, 10, "\r\n"), UTF_8) + "110,72";
    Files.write(folder.resolve("b.txt"), marked.getBytes(UTF_8));
    Files.write(folder.resolve("c.txt"), new byte[0]);
    String any = "first\n\n\n" + "0123456789".repeat(15) + "\nna\u00EFve \u6587\n\nlast\n";
    Files.write(folder.resolve("d.txt"), any.getBytes(UTF_8));
    Files.write(folder.resolve("e.txt.gz"), gzip(numbered(200, 12, "\n")));
    Files.write(folder.resolve("f.txt.zst"), zstd(numbered(300, 12, "\n")));
  }

  static List<String> paths(Path folder, String... names) {
    return Arrays.stream(names).map(name -> folder.resolve(name).toString()).toList();
  }

  /** Lines "i,i*i modulo 97". */
  private static byte[] numbered(int first, int count, String end) {
    StringBuilder text = new StringBuilder();
    for (int i = first; i < first + count; i++) {
      text.append(i).append(',').append(i * i % 97).append(end);
    }
    return text.toString().getBytes(UTF_8);
  }

  /** A gzip file of one block that is not compressed: the same bytes with any version of zlib. */
  private static byte[] gzip(byte[] text) {
    CRC32 crc = new CRC32();
    crc.update(text);
    ByteBuffer packed = ByteBuffer.allocate(text.length + 23).order(ByteOrder.LITTLE_ENDIAN);
    packed.put(new byte[] {0x1f, (byte) 0x8b, 8, 0, 0, 0, 0, 0, 0, (byte) 255});
    packed.put((byte) 1).putShort((short) text.length).putShort((short) ~text.length);
    packed.put(text).putInt((int) crc.getValue()).putInt(text.length);
    return packed.array();
  }

  /** A zstd frame of one segment and one raw block. */
  private static byte[] zstd(byte[] text) {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    packed.writeBytes(new byte[] {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd, 0x20});
    packed.write(text.length); // below 256
    int header = text.length << 3 | 1;
    packed.write(header);
    packed.write(header >>> 8);
    packed.write(header >>> 16);
    packed.writeBytes(text);
    return packed.toByteArray();
  }
}
