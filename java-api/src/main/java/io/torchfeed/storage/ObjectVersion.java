// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import java.net.http.HttpHeaders;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The content of an object as the headers of an answer describe it.
 *
 * @param size in bytes
 * @param tag its ETag, strong or weak; null if the server sends none
 * @param modified its Last-Modified, as text; null if the server sends none, or an ETag
 */
record ObjectVersion(long size, @Nullable String tag, @Nullable String modified) {
  static ObjectVersion of(long size, HttpHeaders headers) {
    String tag = headers.firstValue("ETag").orElse(null);
    return new ObjectVersion(
        size, tag, tag == null ? headers.firstValue("Last-Modified").orElse(null) : null);
  }

  /** Returns the header by which a server refuses to answer for another version. */
  Map<String, String> condition() {
    if (tag != null) {
      // a weak one never matches
      return tag.startsWith("W/") ? Map.of() : Map.of("If-Match", tag);
    }
    return modified == null ? Map.of() : Map.of("If-Unmodified-Since", modified);
  }

  /** Returns the difference of a later version to this one, for messages; null if none is seen. */
  @Nullable String changeTo(ObjectVersion later) {
    if (later.size != size) {
      return "its size was %d and is now %d".formatted(size, later.size);
    }
    if (tag != null || later.tag != null) {
      return tag != null && tag.equals(later.tag)
          ? null
          : "its ETag was %s and is now %s".formatted(named(tag), named(later.tag));
    }
    boolean same = modified == null ? later.modified == null : modified.equals(later.modified);
    return same
        ? null
        : "its Last-Modified was %s and is now %s"
            .formatted(named(modified), named(later.modified));
  }

  private static String named(@Nullable String value) {
    return value == null ? "missing" : value;
  }

  /** Returns whether no other object has the same text. */
  boolean isExact() {
    return tag != null && !tag.startsWith("W/");
  }

  /** Returns a text that changes with the content; empty if the server sends nothing for it. */
  String text() {
    return tag != null ? tag : modified == null ? "" : modified;
  }
}
