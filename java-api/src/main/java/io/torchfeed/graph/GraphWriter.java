// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.channels.FileChannel;
import java.util.List;
import java.util.zip.CRC32C;

/** A writer of the parts of a {@link GraphFile} through one buffer. */
final class GraphWriter {
  private static final int BUFFER_BYTES = 1 << 18;

  private final FileChannel channel;
  private final ByteBuffer buffer =
      ByteBuffer.allocate(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private final CRC32C sum = new CRC32C();

  GraphWriter(FileChannel channel) {
    this.channel = channel;
  }

  private ByteBuffer room(int bytes) throws IOException {
    if (buffer.remaining() < bytes) {
      flush();
    }
    return buffer;
  }

  private void flush() throws IOException {
    buffer.flip();
    sum.update(buffer.duplicate());
    while (buffer.hasRemaining()) {
      channel.write(buffer);
    }
    buffer.clear();
  }

  void number(int value) throws IOException {
    room(Integer.BYTES).putInt(value);
  }

  void bytes(byte[] values, int count) throws IOException {
    for (int at = 0; at < count; ) {
      int most = Math.min(count - at, room(1).remaining());
      buffer.put(values, at, most);
      at += most;
    }
  }

  void number(long value) throws IOException {
    room(Long.BYTES).putLong(value);
  }

  void end() throws IOException {
    flush();
    number((int) sum.getValue());
    flush();
  }

  void ids(IdMap map) throws IOException {
    number(map.kind() == IdMap.Kind.NUMBER ? 0 : 1);
    number(map.size());
    for (int i = 0; i < map.size(); i++) {
      if (map.kind() == IdMap.Kind.NUMBER) {
        number(map.id(i));
      } else {
        number(map.end(i));
      }
    }
    bytes(map.texts(), map.texts().length);
  }

  void rows(CsrMatrix rows) throws IOException {
    number(rows.rows());
    number(rows.columns());
    number(rows.entries());
    for (int row = 0; row < rows.rows(); row++) {
      number(rows.start(row));
    }
    number(rows.entries());
    for (int i = 0; i < rows.entries(); i++) {
      number(rows.column(i));
    }
    for (int i = 0; i < rows.entries(); i++) {
      number(Double.doubleToRawLongBits(rows.value(i)));
    }
  }

  void values(DoubleBuffer values) throws IOException {
    while (values.hasRemaining()) {
      number(Double.doubleToRawLongBits(values.get()));
    }
  }

  /** Writes texts in any order. */
  void texts(List<String> texts) throws IOException {
    number(1);
    number(texts.size());
    byte[] all = String.join("", texts).getBytes(UTF_8);
    int end = 0;
    for (String text : texts) {
      end += text.getBytes(UTF_8).length;
      number(end);
    }
    bytes(all, all.length);
  }
}
