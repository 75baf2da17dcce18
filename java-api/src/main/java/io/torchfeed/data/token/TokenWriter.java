// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import static java.nio.ByteOrder.LITTLE_ENDIAN;
import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.FileReplacement;
import io.torchfeed.internal.PathBytes;
import io.torchfeed.memory.DType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Iterator;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Writes documents of token ids as Megatron-LM does: a {@code .bin} file, which {@link
 * TokenFile#raw} reads as well, and an {@code .idx} file beside it.
 *
 * <pre>{@code
 * try (var texts = Files.lines(Path.of("train.txt"))) {
 *   TokenWriter.write(
 *       Path.of("train.bin"), DType.UINT16, texts, text -> text.chars().asLongStream().toArray());
 * }
 * }</pre>
 */
public final class TokenWriter {
  private static final int CHUNK_BYTES = 1 << 20;

  private TokenWriter() {}

  /**
   * Writes texts through a tokenizer.
   *
   * @param <T> the type of a text
   * @param binary the {@code .bin} file
   * @param dtype the type of the ids: UINT8, UINT16, INT16, INT32 or INT64
   * @param texts a document each; read once, in order, and not closed
   * @param tokenizer returns the ids of a text; called by this thread
   * @return the number of documents
   * @throws IllegalArgumentException as {@link #write(Path, DType, Stream)}
   * @throws IOException as {@link #write(Path, DType, Stream)}
   */
  public static <T> long write(
      Path binary, DType dtype, Stream<T> texts, Function<? super T, long[]> tokenizer)
      throws IOException {
    requireNonNull(binary, "binary");
    requireNonNull(dtype, "dtype");
    requireNonNull(texts, "texts");
    requireNonNull(tokenizer, "tokenizer");
    return write(binary, dtype, texts.map(tokenizer));
  }

  /**
   * Writes documents. Each file appears as a whole and replaces an earlier one, or nothing changes;
   * if the process ends between the two files, no index exists, and {@link TokenFile#megatron} says
   * so.
   *
   * @param binary the {@code .bin} file
   * @param dtype the type of the ids: UINT8, UINT16, INT16, INT32 or INT64
   * @param documents the ids of each document, at least 0; read once, in order, and not closed
   * @return the number of documents
   * @throws IllegalArgumentException if the type is another one, the name does not end in {@code
   *     .bin}, or an id does not fit the type; it names document and token
   * @throws IOException if a file cannot be written
   */
  public static long write(Path binary, DType dtype, Stream<long[]> documents) throws IOException {
    requireNonNull(binary, "binary");
    requireNonNull(dtype, "dtype");
    requireNonNull(documents, "documents");
    Path index = MegatronIndex.file(binary);
    int code = MegatronIndex.code(dtype);
    if (code < 0) {
      throw new IllegalArgumentException(
          "dtype must be UINT8, UINT16, INT16, INT32 or INT64, got " + dtype);
    }
    Path known = Files.exists(index) ? index.toRealPath() : index; // a link stays
    Path next = PathBytes.withSuffix(known, ".next");
    LongList lengths = new LongList();
    try {
      FileReplacement.write(
          binary,
          channel -> {
            new Ids(channel, dtype).writeAll(documents.iterator(), lengths);
            FileReplacement.write(
                next, to -> writeIndex(to, code, dtype.bytes(), lengths.toArray()));
            Files.deleteIfExists(known); // it is of the ids that are replaced now
          });
      Files.move(next, known, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      if (Files.isRegularFile(next)) {
        Files.delete(next);
      }
    }
    return lengths.size();
  }

  private static void writeIndex(FileChannel channel, int code, int bytes, long[] lengths)
      throws IOException {
    int documents = lengths.length;
    Output output = new Output(channel);
    output.room(MegatronIndex.HEADER_BYTES).put(MegatronIndex.MAGIC).putLong(1).put((byte) code);
    output.room(2 * Long.BYTES).putLong(documents).putLong(documents + 1L);
    for (long length : lengths) {
      output.room(Integer.BYTES).putInt((int) length);
    }
    long begin = 0;
    for (long length : lengths) {
      output.room(Long.BYTES).putLong(begin);
      begin += length * bytes;
    }
    for (int i = 0; i <= documents; i++) {
      output.room(Long.BYTES).putLong(i);
    }
    output.flush();
  }

  /** The ids of documents. */
  private static final class Ids {
    private final Output output;
    private final DType dtype;
    private final long[] range;

    Ids(FileChannel channel, DType dtype) {
      this.output = new Output(channel);
      this.dtype = dtype;
      this.range = TokenBytes.range(dtype);
    }

    void writeAll(Iterator<long[]> documents, LongList lengths) throws IOException {
      while (documents.hasNext()) {
        long[] ids = documents.next();
        if (ids == null) {
          throw new IllegalArgumentException("document %d is null".formatted(lengths.size()));
        }
        for (int i = 0; i < ids.length; i++) {
          if (ids[i] < range[0] || ids[i] > range[1]) {
            throw new IllegalArgumentException(
                "token %d of document %d must be in %s to be of %s, got %d"
                    .formatted(i, lengths.size(), Arrays.toString(range), dtype, ids[i]));
          }
          TokenBytes.put(output.room(dtype.bytes()), ids[i], dtype);
        }
        lengths.add(ids.length);
      }
      output.flush();
    }
  }

  /** Bytes that are written in chunks. */
  private static final class Output {
    private final FileChannel channel;
    private final ByteBuffer chunk = ByteBuffer.allocateDirect(CHUNK_BYTES).order(LITTLE_ENDIAN);

    Output(FileChannel channel) {
      this.channel = channel;
    }

    /** Returns a buffer with room for some bytes. */
    ByteBuffer room(int bytes) throws IOException {
      if (chunk.remaining() < bytes) {
        flush();
      }
      return chunk;
    }

    void flush() throws IOException {
      chunk.flip();
      while (chunk.hasRemaining()) {
        channel.write(chunk);
      }
      chunk.clear();
    }
  }
}
