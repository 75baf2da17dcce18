// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.RangeBytes;
import java.util.List;

/**
 * The ranges that one rank has still to read: the checkpoint of a {@link LineCursor}. A rank of a
 * new plan has at most one range. Immutable.
 *
 * <p>{@link TextPartition#resume} continues from the states of all ranks.
 *
 * @param filesDigest a digest of the files of the plan
 * @param rest the ranges not yet delivered, in the order of reading
 */
public record TextState(long filesDigest, List<ByteRange> rest) {
  /**
   * Creates a state.
   *
   * @param filesDigest a digest of the files of the plan
   * @param rest the ranges not yet delivered, in the order of reading
   */
  public TextState {
    requireNonNull(rest, "rest");
    rest = Checks.copyOf("rest", rest);
  }

  /**
   * Returns the number of bytes left, to within one line.
   *
   * @return the number of bytes, at least 0
   */
  public long bytes() {
    return rest.stream().mapToLong(ByteRange::length).sum();
  }

  /**
   * Returns a state from bytes, the form of positions of lines: version 1 (int8), digest (int64),
   * number of ranges (int32), and for each range its start, end and text offset (int64 each), all
   * big-endian.
   *
   * @param bytes all bytes of the state
   * @return the state
   * @throws IllegalArgumentException if the bytes are not a state of this version
   */
  public static TextState fromBytes(byte[] bytes) {
    requireNonNull(bytes, "bytes");
    RangeBytes saved = RangeBytes.read(bytes);
    return new TextState(
        saved.digest(),
        saved.ranges().stream()
            .map(range -> new ByteRange(range.start(), range.end(), range.textOffset()))
            .toList());
  }

  /**
   * Returns the state as JSON: {@code {"version":1,"filesDigest":"16 hexadecimal
   * digits","rest":[{"start":0,"end":9,"textOffset":0}]}}.
   *
   * @return the text; {@link #fromJson} returns an equal state for it
   */
  public String toJson() {
    return TextStateJson.write(this);
  }

  /**
   * Returns the state that {@link #toJson} wrote.
   *
   * @param json the text; fields may be in any order, with white space
   * @return the state
   * @throws IllegalArgumentException if the text is not a state of this version
   */
  public static TextState fromJson(String json) {
    requireNonNull(json, "json");
    return TextStateJson.read(json);
  }
}
