// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * A value in Python's pickle format, protocol 2: maps, lists, arrays as tuples, texts, whole
 * numbers, and truth values.
 */
final class Pickle {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  Pickle() {
    bytes.write(0x80);
    bytes.write(2);
  }

  /** Adds the only value. */
  Pickle put(Object value) {
    write(value);
    bytes.write('.');
    return this;
  }

  byte[] toBytes() {
    return bytes.toByteArray();
  }

  private void write(Object value) {
    if (value instanceof Map<?, ?> map) {
      bytes.write('}');
      bytes.write('(');
      map.forEach(
          (key, own) -> {
            write(key);
            write(own);
          });
      bytes.write('u');
    } else if (value instanceof List<?> list) {
      bytes.write(']');
      bytes.write('(');
      list.forEach(this::write);
      bytes.write('e');
    } else if (value instanceof Object[] tuple) {
      bytes.write('(');
      for (Object each : tuple) {
        write(each);
      }
      bytes.write('t');
    } else if (value instanceof Boolean truth) {
      bytes.write(truth ? 0x88 : 0x89);
    } else if (value instanceof Long number) {
      bytes.write(0x8a);
      bytes.write(Long.BYTES);
      little(number, Long.BYTES);
    } else {
      byte[] text = String.valueOf(value).getBytes(StandardCharsets.UTF_8);
      bytes.write('X');
      little(text.length, Integer.BYTES);
      bytes.writeBytes(text);
    }
  }

  private void little(long number, int count) {
    for (int i = 0; i < count; i++) {
      bytes.write((int) (number >>> (8 * i)));
    }
  }
}
