// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * A message of protocol buffers, which is written field by field, best in the order of their
 * numbers. Not thread-safe.
 */
public final class ProtoMessage {
  private static final int VARINT = 0;
  private static final int FIXED_64 = 1;
  private static final int BYTES = 2;
  private static final int FIXED_32 = 5;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  /** Adds an integer; without one the field has its default value, 0. */
  public ProtoMessage integer(int field, long value) {
    if (value != 0) {
      key(field, VARINT);
      varint(value);
    }
    return this;
  }

  /** Adds a double, or nothing if its bits are the default value's. */
  public ProtoMessage number(int field, double value) {
    if (Double.doubleToRawLongBits(value) != 0) {
      key(field, FIXED_64);
      fixed(value);
    }
    return this;
  }

  /** Adds a float of a choice of fields, where the default value is written, too. */
  public ProtoMessage chosen(int field, float value) {
    key(field, FIXED_32);
    little(Float.floatToRawIntBits(value), Float.BYTES);
    return this;
  }

  /** Adds an integer, which is written even if it is 0. */
  public ProtoMessage always(int field, long value) {
    key(field, VARINT);
    varint(value);
    return this;
  }

  /** Adds an integer of 64 bits in a field of fixed size. */
  public ProtoMessage fixed(int field, long value) {
    key(field, FIXED_64);
    little(value, Long.BYTES);
    return this;
  }

  /** Adds doubles in one field. */
  public ProtoMessage numbers(int field, double[] values) {
    key(field, BYTES);
    varint((long) values.length * Double.BYTES);
    for (double value : values) {
      fixed(value);
    }
    return this;
  }

  /** Adds a text. */
  public ProtoMessage text(int field, String value) {
    return bytes(field, value.getBytes(StandardCharsets.UTF_8));
  }

  /** Adds a message, as it is now. */
  public ProtoMessage message(int field, ProtoMessage value) {
    key(field, BYTES);
    varint(value.bytes.size());
    try {
      value.writeTo(bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // memory never throws
    }
    return this;
  }

  /** Removes all fields, so that the memory serves the next message. */
  public ProtoMessage clear() {
    bytes.reset();
    return this;
  }

  /** Writes the message. */
  public void writeTo(OutputStream out) throws IOException {
    bytes.writeTo(out);
  }

  /** Adds bytes. */
  public ProtoMessage bytes(int field, byte[] value) {
    key(field, BYTES);
    varint(value.length);
    bytes.writeBytes(value);
    return this;
  }

  /** Returns the bytes of the message. */
  public byte[] toBytes() {
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
