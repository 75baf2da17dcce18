// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * What one rank has still to read: what a checkpoint keeps of a {@link LineCursor}. Immutable, 13
 * bytes and 24 for each range, of which a rank has one until the number of ranks changes.
 *
 * <p>{@link TextPartition#resume} continues from the states of all ranks.
 *
 * @param filesDigest a digest of the files of the plan
 * @param rest the ranges not yet delivered, in the order of reading
 */
public record TextState(long filesDigest, List<ByteRange> rest) {
  private static final byte VERSION = 1;
  private static final int HEAD_BYTES = 1 + Long.BYTES + Integer.BYTES;
  private static final int RANGE_BYTES = 3 * Long.BYTES;

  /**
   * A state.
   *
   * @param filesDigest a digest of the files of the plan
   * @param rest the ranges not yet delivered, in the order of reading
   */
  public TextState {
    rest = List.copyOf(rest);
  }

  /**
   * How many bytes are left, to within one line.
   *
   * @return the number of bytes, at least 0
   */
  public long bytes() {
    return rest.stream().mapToLong(ByteRange::length).sum();
  }

  /**
   * The state in binary form: version 1, digest (int64), number of ranges (int32), of each start,
   * end and text offset (int64), big-endian.
   *
   * @return the bytes
   */
  public byte[] toBytes() {
    ByteBuffer bytes = ByteBuffer.allocate(HEAD_BYTES + rest.size() * RANGE_BYTES);
    bytes.put(VERSION).putLong(filesDigest).putInt(rest.size());
    for (ByteRange range : rest) {
      bytes.putLong(range.start()).putLong(range.end()).putLong(range.textOffset());
    }
    return bytes.array();
  }

  /**
   * The state that {@link #toBytes} wrote.
   *
   * @param bytes all its bytes
   * @return the state
   * @throws IllegalArgumentException if the bytes are no state of this version
   */
  public static TextState fromBytes(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    try {
      byte version = in.get();
      if (version != VERSION) {
        throw new IllegalArgumentException(
            "the version of a text state must be %d, got %d".formatted(VERSION, version));
      }
      long digest = in.getLong();
      int count = in.getInt();
      if (count < 0 || in.remaining() != (long) count * RANGE_BYTES) {
        throw new IllegalArgumentException(
            "a text state of %d ranges must have %d bytes, got %d"
                .formatted(count, HEAD_BYTES + (long) count * RANGE_BYTES, bytes.length));
      }
      List<ByteRange> rest = new ArrayList<>(count);
      for (int i = 0; i < count; i++) {
        rest.add(new ByteRange(in.getLong(), in.getLong(), in.getLong()));
      }
      return new TextState(digest, rest);
    } catch (BufferUnderflowException e) {
      throw new IllegalArgumentException(
          "a text state must have at least %d bytes, got %d".formatted(HEAD_BYTES, bytes.length),
          e);
    }
  }

  /**
   * The state as JSON: {@code {"version":1,"filesDigest":"16 hexadecimal
   * digits","rest":[{"start":0,"end":9,"textOffset":0}]}}.
   *
   * @return the text; {@link #fromJson} gives an equal state
   */
  public String toJson() {
    return TextStateJson.write(this);
  }

  /**
   * The state that {@link #toJson} wrote.
   *
   * @param json the text; fields may come in another order, with white space
   * @return the state
   * @throws IllegalArgumentException if the text is no state of this version
   */
  public static TextState fromJson(String json) {
    return TextStateJson.read(json);
  }
}
