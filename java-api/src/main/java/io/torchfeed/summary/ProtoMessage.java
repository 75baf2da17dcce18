// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.summary;

import io.torchfeed.internal.Varint;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** A message of protocol buffers, which is written field by field in the order of their numbers. */
final class ProtoMessage {
  private static final int VARINT = 0;
  private static final int FIXED_64 = 1;
  private static final int BYTES = 2;
  private static final int FIXED_32 = 5;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  /** Adds an integer; without one the field has its default value, 0. */
  ProtoMessage integer(int field, long value) {
    if (value != 0) {
      key(field, VARINT);
      varint(value);
    }
    return this;
  }

  /** Adds a double, or nothing if its bits are the default value's. */
  ProtoMessage number(int field, double value) {
    if (Double.doubleToRawLongBits(value) != 0) {
      key(field, FIXED_64);
      fixed(value);
    }
    return this;
  }

  /** Adds a float of a choice of fields, where the default value is written, too. */
  ProtoMessage chosen(int field, float value) {
    key(field, FIXED_32);
    little(Float.floatToRawIntBits(value), Float.BYTES);
    return this;
  }

  /** Adds doubles in one field. */
  ProtoMessage numbers(int field, double[] values) {
    key(field, BYTES);
    varint((long) values.length * Double.BYTES);
    for (double value : values) {
      fixed(value);
    }
    return this;
  }

  ProtoMessage text(int field, String value) {
    return bytes(field, value.getBytes(StandardCharsets.UTF_8));
  }

  ProtoMessage message(int field, ProtoMessage value) {
    return bytes(field, value.toBytes());
  }

  ProtoMessage bytes(int field, byte[] value) {
    key(field, BYTES);
    varint(value.length);
    bytes.writeBytes(value);
    return this;
  }

  byte[] toBytes() {
    return bytes.toByteArray();
  }

  private void fixed(double value) {
    little(Double.doubleToRawLongBits(value), Double.BYTES);
  }

  private void little(long bits, int count) {
    for (int i = 0; i < count; i++) {
      bytes.write((int) (bits >>> (8 * i)));
    }
  }

  private void key(int field, int type) {
    varint(((long) field << 3) | type);
  }

  private void varint(long value) {
    Varint.write(value, bytes);
  }
}
