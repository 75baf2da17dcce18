// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.internal.Quotes;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * The form in which sampler states were saved before 0.1, big-endian: "tfSt", version (int16),
 * kind, number of parameters (int32), names and values, epoch (int64), finished (int8), order
 * digest (int64), number of segments (int32), world size (int32) and delivered (int64) of each,
 * CRC-32C of all preceding bytes. A string is its length in bytes (int32) followed by UTF-8.
 */
final class StateBytes {
  private static final int MAGIC = 0x74665374;
  private static final short VERSION = 1;
  private static final int HEADER_BYTES = Integer.BYTES + Short.BYTES;

  private StateBytes() {}

  static SamplerState read(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    if (bytes.length < HEADER_BYTES || in.getInt() != MAGIC) {
      throw new IllegalArgumentException(
          "the bytes are not a sampler state, which begins with tfSt: got "
              + bytes.length
              + " bytes");
    }
    int version = in.getShort();
    if (version != VERSION) {
      throw new IllegalArgumentException(
          "the version of a sampler state must be %d, got %d".formatted(VERSION, version));
    }
    int end = bytes.length - Integer.BYTES;
    if (end < HEADER_BYTES || checksum(bytes, end) != in.getInt(end)) {
      throw new IllegalArgumentException(
          "the bytes of the sampler state are damaged: the checksum of %d bytes is wrong"
              .formatted(bytes.length));
    }
    in.limit(end);
    try {
      return readFields(in);
    } catch (BufferUnderflowException | CharacterCodingException e) {
      throw new IllegalArgumentException("the bytes of the sampler state are damaged", e);
    }
  }

  private static SamplerState readFields(ByteBuffer in) throws CharacterCodingException {
    String kind = text(in);
    Map<String, String> values = new LinkedHashMap<>();
    for (int left = count(in); left > 0; left--) {
      String name = text(in);
      if (values.put(name, text(in)) != null) {
        throw new IllegalArgumentException(
            "the sampler state has a parameter twice: " + Quotes.shortened(name));
      }
    }
    long epoch = in.getLong();
    int finished = in.get();
    long orderDigest = in.getLong();
    List<EpochSegment> segments = new ArrayList<>();
    for (int left = count(in); left > 0; left--) {
      segments.add(new EpochSegment(in.getInt(), in.getLong()));
    }
    if (finished >>> 1 != 0 || in.hasRemaining()) {
      throw new IllegalArgumentException("the bytes of the sampler state are damaged");
    }
    return new SamplerState(
        new PlanParameters(kind, values), epoch, segments, finished == 1, orderDigest);
  }

  private static int count(ByteBuffer in) {
    int count = in.getInt();
    if (count < 0) {
      throw new BufferUnderflowException();
    }
    return count;
  }

  private static String text(ByteBuffer in) throws CharacterCodingException {
    int length = count(in);
    if (length > in.remaining()) {
      throw new BufferUnderflowException();
    }
    ByteBuffer text = in.slice(in.position(), length);
    in.position(in.position() + length);
    return UTF_8.newDecoder().decode(text).toString();
  }

  private static int checksum(byte[] bytes, int length) {
    CRC32C checksum = new CRC32C();
    checksum.update(bytes, 0, length);
    return (int) checksum.getValue();
  }
}
