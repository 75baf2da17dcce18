// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import java.net.http.HttpHeaders;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The header {@code Content-Range} of an answer (RFC 9110, section 14.4).
 *
 * @param first the position of the first byte
 * @param last the position of the last byte
 * @param size of the whole object
 */
record ContentRange(long first, long last, long size) {
  private static final Pattern RANGE = Pattern.compile("bytes (\\d{1,18})-(\\d{1,18})/(\\d{1,18})");
  private static final Pattern SIZE = Pattern.compile("bytes \\*/(\\d{1,18})");

  /** Returns the range; null if the header is missing, has no size or is none of bytes. */
  static @Nullable ContentRange of(HttpHeaders headers) {
    Matcher found = RANGE.matcher(headers.firstValue("Content-Range").orElse(""));
    return found.matches()
        ? new ContentRange(
            Long.parseLong(found.group(1)),
            Long.parseLong(found.group(2)),
            Long.parseLong(found.group(3)))
        : null;
  }

  /** Returns the size that an answer without a range has. */
  static OptionalLong sizeOf(HttpHeaders headers) {
    Matcher found = SIZE.matcher(headers.firstValue("Content-Range").orElse(""));
    return found.matches() ? OptionalLong.of(Long.parseLong(found.group(1))) : OptionalLong.empty();
  }

  /** Returns whether this is an answer to a request of bytes from {@code from} to {@code to}. */
  boolean answers(long from, long to) {
    return first == from && last >= first && last <= to && last < size;
  }

  long length() {
    return last - first + 1;
  }
}
