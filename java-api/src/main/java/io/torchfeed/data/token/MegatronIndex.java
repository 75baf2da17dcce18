// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.torchfeed.internal.IndexList;
import io.torchfeed.memory.DType;
import io.torchfeed.storage.ByteSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The index of a dataset of Megatron-LM, version 1, little-endian:
 *
 * <pre>
 * bytes 0 to 8    "MMIDIDX\0\0"
 * uint64          1, the version
 * uint8           the type of the ids
 * uint64, uint64  the number S of sequences, and D, one more than the number of documents
 * int32[S]        the length of each sequence, in ids
 * int64[S]        the byte of the .bin file with which it begins
 * int64[D]        the first sequence of each document, and S
 * int8[S]         the mode of each sequence, in datasets of several modalities only
 * </pre>
 */
final class MegatronIndex {
  static final byte[] MAGIC = "MMIDIDX\0\0".getBytes(ISO_8859_1);
  static final int HEADER_BYTES = 34;
  private static final int CHUNK = 1 << 16;

  /** The types by their code in the file; null for those that are no ids. */
  private static final List<@Nullable DType> CODES =
      Arrays.asList(
          null, DType.UINT8, null, DType.INT16, DType.INT32, DType.INT64, null, null, DType.UINT16);

  private final TokenPart part;
  private final long[] begins;

  private MegatronIndex(TokenPart part, long[] begins) {
    this.part = part;
    this.begins = begins;
  }

  TokenPart part() {
    return part;
  }

  /** Returns the first token of each document, and the number of tokens. */
  long[] begins() {
    return begins;
  }

  /** Returns the code of a type of ids; -1 if it has none. */
  static int code(DType dtype) {
    return CODES.indexOf(dtype);
  }

  /** Returns the name of the index beside a file of ids. */
  static Path file(Path binary) {
    Path name = binary.getFileName();
    if (name == null || !name.toString().endsWith(".bin")) {
      throw new IllegalArgumentException(
          binary + " must be a file whose name ends in .bin, with an index beside it");
    }
    String text = name.toString();
    return binary.resolveSibling(text.substring(0, text.length() - ".bin".length()) + ".idx");
  }

  static MegatronIndex read(Path binary) {
    Path index = file(binary);
    if (Files.notExists(index)) {
      throw new UncheckedIOException(
          "%s needs the index %s beside it, which does not exist; ids without an index are read by"
              .concat(" TokenFile.raw")
              .formatted(binary, index),
          new NoSuchFileException(index.toString()));
    }
    try (ByteSource source = ByteSource.file(index)) {
      return new Reader(binary, index, source).read();
    } catch (IOException e) {
      throw TokenBytes.unreadable(index, e);
    }
  }

  /** The parser of a file. */
  private record Reader(Path binary, Path index, ByteSource source) {
    MegatronIndex read() throws IOException {
      long size = source.size();
      if (size < HEADER_BYTES) {
        throw refused("at least %d bytes".formatted(HEADER_BYTES), size + " bytes");
      }
      ByteBuffer header = bytes(0, HEADER_BYTES);
      byte[] magic = new byte[MAGIC.length];
      header.get(magic);
      if (!Arrays.equals(magic, MAGIC)) {
        throw refused("begin with MMIDIDX", Arrays.toString(magic));
      }
      long version = header.getLong();
      int code = header.get();
      long sequences = header.getLong();
      long bounds = header.getLong();
      if (version != 1) {
        throw refused("have version 1", Long.toUnsignedString(version));
      }
      DType dtype = code > 0 && code < CODES.size() ? CODES.get(code) : null;
      if (dtype == null) {
        throw refused(
            "have ids of uint8, uint16, int16, int32 or int64", "a type with code " + code);
      }
      requireSize(size, sequences, bounds);
      TokenPart part = TokenBytes.part(binary, dtype, 0);
      return new MegatronIndex(
          part, documents(starts(part, (int) sequences), sequences, (int) bounds));
    }

    private void requireSize(long size, long sequences, long bounds) {
      boolean hasCounts = sequences >= 0 && sequences < IndexList.MAX_SIZE;
      if (!hasCounts || bounds < 1 || bounds > IndexList.MAX_SIZE) {
        throw refused(
            "have at most %d sequences, and as many documents".formatted(IndexList.MAX_SIZE - 1),
            "%s and %s"
                .formatted(Long.toUnsignedString(sequences), Long.toUnsignedString(bounds - 1)));
      }
      long least = HEADER_BYTES + 12 * sequences + 8 * bounds;
      if (size != least && size != least + sequences) {
        throw refused(
            "have %d bytes for %d sequences and %d documents"
                .formatted(least, sequences, bounds - 1),
            size + " bytes");
      }
    }

    /** Returns the first token of each sequence, and the number of tokens. */
    private long[] starts(TokenPart part, int sequences) throws IOException {
      long[] starts = new long[sequences + 1];
      long pointers = HEADER_BYTES + 4L * sequences;
      for (int done = 0; done < sequences; done += CHUNK) {
        int count = Math.min(CHUNK, sequences - done);
        ByteBuffer lengths = bytes(HEADER_BYTES + 4L * done, 4 * count);
        ByteBuffer begins = bytes(pointers + 8L * done, 8 * count);
        for (int i = 0; i < count; i++) {
          int at = done + i;
          long begin = begins.getLong();
          int length = lengths.getInt();
          if (length < 0 || begin != starts[at] * part.dtype().bytes()) {
            throw refused(
                "have sequences that follow each other, so that sequence %d begins at byte %d of %s"
                    .formatted(at, starts[at] * part.dtype().bytes(), binary),
                "byte %d, and a length of %d".formatted(begin, length));
          }
          starts[at + 1] = starts[at] + length;
        }
      }
      if (starts[sequences] != part.tokens()) {
        throw refused(
            "have the %d tokens of %s".formatted(part.tokens(), binary),
            "%d; the two files are not of one dataset, or one is incomplete"
                .formatted(starts[sequences]));
      }
      return starts;
    }

    private long[] documents(long[] starts, long sequences, int bounds) throws IOException {
      long[] begins = new long[bounds];
      long from = HEADER_BYTES + 12L * sequences;
      long before = 0;
      for (int done = 0; done < bounds; done += CHUNK) {
        int count = Math.min(CHUNK, bounds - done);
        ByteBuffer firsts = bytes(from + 8L * done, 8 * count);
        for (int i = done; i < done + count; i++) {
          long first = firsts.getLong();
          boolean isEnd = i == bounds - 1;
          if (first < before
              || first > sequences
              || (i == 0 && first > 0)
              || (isEnd && first < sequences)) {
            throw refused(
                "have documents that begin in order, from sequence 0 to the end %d"
                    .formatted(sequences),
                "document %d at sequence %d".formatted(i, first));
          }
          before = first;
          begins[i] = starts[(int) first];
        }
      }
      return begins;
    }

    private ByteBuffer bytes(long offset, int count) throws IOException {
      ByteBuffer buffer = TokenBytes.buffer(count);
      source.readFully(offset, buffer);
      return buffer.flip();
    }

    private IllegalArgumentException refused(String rule, String got) {
      return new IllegalArgumentException("%s must %s, got %s".formatted(index, rule, got));
    }
  }
}
