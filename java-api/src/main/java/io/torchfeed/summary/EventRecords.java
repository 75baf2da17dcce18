// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.summary;

import io.torchfeed.internal.ProtoMessage;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** TensorBoard's events: messages of {@code event.proto}, framed as records of TensorFlow. */
final class EventRecords {
  private static final int MASK = 0xa282ead8;

  private EventRecords() {}

  /** Returns the first record of a file. */
  static byte[] version(double seconds) {
    return framed(new ProtoMessage().number(1, seconds).text(3, "brain.Event:2"));
  }

  /** Returns a record that hides the events of earlier files from a step on. */
  static byte[] start(double seconds, long step) {
    return framed(at(seconds, step).message(7, new ProtoMessage().integer(1, 1)));
  }

  static byte[] scalar(double seconds, long step, String tag, double value) {
    return value(seconds, step, new ProtoMessage().text(1, tag).chosen(2, (float) value));
  }

  static byte[] histogram(double seconds, long step, String tag, Histogram values) {
    ProtoMessage counts =
        new ProtoMessage()
            .number(1, values.min())
            .number(2, values.max())
            .number(3, values.count())
            .number(4, values.sum())
            .number(5, values.sumOfSquares())
            .numbers(6, values.limits())
            .numbers(7, values.counts());
    return value(seconds, step, new ProtoMessage().text(1, tag).message(5, counts));
  }

  static byte[] image(double seconds, long step, String tag, PngImage image) {
    ProtoMessage picture =
        new ProtoMessage()
            .integer(1, image.height())
            .integer(2, image.width())
            .integer(3, image.channels())
            .bytes(4, image.png());
    return value(seconds, step, new ProtoMessage().text(1, tag).message(4, picture));
  }

  private static byte[] value(double seconds, long step, ProtoMessage value) {
    return framed(at(seconds, step).message(5, new ProtoMessage().message(1, value)));
  }

  private static ProtoMessage at(double seconds, long step) {
    return new ProtoMessage().number(1, seconds).integer(2, step);
  }

  private static byte[] framed(ProtoMessage event) {
    byte[] data = event.toBytes();
    ByteBuffer record =
        ByteBuffer.allocate(Long.BYTES + data.length + 2 * Integer.BYTES)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(data.length);
    record.putInt(maskedCrc(record.array(), Long.BYTES)).put(data);
    return record.putInt(maskedCrc(data, data.length)).array();
  }

  private static int maskedCrc(byte[] bytes, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, length);
    return Integer.rotateRight((int) crc.getValue(), 15) + MASK;
  }
}
