// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The fields of a message of protocol buffers, by their numbers. */
final class ProtoFields {
  private final Map<Integer, List<Object>> fields = new HashMap<>();

  static ProtoFields of(byte[] bytes) {
    ProtoFields message = new ProtoFields();
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    while (in.hasRemaining()) {
      long key = varint(in);
      Object value =
          switch ((int) (key & 7)) {
            case 0 -> varint(in);
            case 1 -> in.getLong();
            case 2 -> {
              byte[] inner = new byte[(int) varint(in)];
              in.get(inner);
              yield inner;
            }
            default -> throw new IllegalArgumentException("key " + key);
          };
      message.fields.computeIfAbsent((int) (key >>> 3), field -> new ArrayList<>()).add(value);
    }
    return message;
  }

  private static long varint(ByteBuffer in) {
    long value = 0;
    for (int shift = 0; ; shift += 7) {
      byte next = in.get();
      value |= (next & 0x7fL) << shift;
      if (next >= 0) {
        return value;
      }
    }
  }

  private List<Object> all(int field) {
    return fields.getOrDefault(field, List.of());
  }

  List<ProtoFields> messages(int field) {
    return all(field).stream().map(each -> of((byte[]) each)).toList();
  }

  long number(int field) {
    return all(field).isEmpty() ? 0 : (long) all(field).get(0);
  }

  List<Long> fixed(int field) {
    return all(field).stream().map(Long.class::cast).toList();
  }
}
