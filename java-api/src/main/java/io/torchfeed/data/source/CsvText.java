// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.nio.charset.StandardCharsets.UTF_16BE;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.internal.FileContent;
import io.torchfeed.internal.RegularFile;
import io.torchfeed.internal.gzip.GzipText;
import io.torchfeed.storage.ByteSource;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The characters of a CSV file: unpacked if it is compressed, in UTF-8, or as its byte-order mark
 * says, without replacements for bytes that are no character.
 *
 * @param path names the file
 * @param source the bytes of the file; null if it is opened by its path
 */
record CsvText(Path path, @Nullable ByteSource source) {
  private static final int BUFFER_BYTES = 1 << 16;
  private static final int[] GZIP = {0x1f, 0x8b};

  /** Opens the file; the caller closes the reader. */
  Reader open() throws IOException {
    if (source == null) {
      RegularFile.require(path);
    }
    BufferedInputStream in = bytes();
    try {
      return new InputStreamReader(in, decoder(in));
    } catch (IOException e) {
      in.close();
      throw e;
    }
  }

  /** Returns the decoder of the bytes behind a byte-order mark. */
  private static CharsetDecoder decoder(BufferedInputStream in) throws IOException {
    in.mark(3);
    int first = in.read();
    int second = in.read();
    Charset charset = UTF_8;
    if (first == 0xfe && second == 0xff) {
      charset = UTF_16BE;
    } else if (first == 0xff && second == 0xfe) {
      charset = UTF_16LE;
    } else if (first != 0xef || second != 0xbb || in.read() != 0xbf) {
      in.reset();
    }
    return charset.newDecoder(); // refuses bytes that are no character
  }

  private BufferedInputStream bytes() throws IOException {
    BufferedInputStream in = stored();
    try {
      in.mark(GZIP.length);
      boolean isCompressed = in.read() == GZIP[0] && in.read() == GZIP[1];
      in.reset();
      return isCompressed ? new BufferedInputStream(new GzipText(in), BUFFER_BYTES) : in;
    } catch (IOException e) {
      in.close();
      throw e;
    }
  }

  private BufferedInputStream stored() throws IOException {
    return new BufferedInputStream(
        source == null ? Files.newInputStream(path) : source.stream(), BUFFER_BYTES);
  }

  /** Returns the name of another format of the file, for a message; nothing if it is unknown. */
  String otherFormat() {
    try (InputStream in = bytes()) {
      String content = FileContent.of(in.readNBytes(FileContent.BEGIN_BYTES));
      return content == null || FileContent.isText(content) ? "" : ": it is " + content;
    } catch (IOException e) {
      return ""; // the message quotes the names that were read
    }
  }

  /** Returns the line of the first bytes that are no character, or else of the end. */
  long badLine() throws IOException {
    try (BufferedInputStream in = bytes()) {
      CharsetDecoder decoder = decoder(in);
      ByteBuffer bytes = ByteBuffer.allocate(BUFFER_BYTES);
      CharBuffer chars = CharBuffer.allocate(BUFFER_BYTES);
      long line = 1;
      boolean isOver = false;
      while (!isOver) {
        int count = in.read(bytes.array(), bytes.position(), bytes.remaining());
        bytes.position(bytes.position() + Math.max(0, count)).flip();
        isOver = decoder.decode(bytes, chars, count < 0).isError() || count < 0;
        line += chars.flip().chars().filter(each -> each == '\n').count();
        chars.clear();
        bytes.compact();
      }
      return line;
    }
  }
}
