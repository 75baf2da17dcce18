// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

/**
 * An object of a listing.
 *
 * @param key its name in the bucket
 * @param size in bytes
 * @param tag its ETag
 */
public record S3Object(String key, long size, String tag) {
  /**
   * Creates an object of a listing.
   *
   * @param key its name in the bucket
   * @param size in bytes, at least 0
   * @param tag its ETag
   * @throws IllegalArgumentException if the size is negative
   */
  public S3Object {
    requireNonNull(key, "key");
    requireNonNull(tag, "tag");
    if (size < 0) {
      throw new IllegalArgumentException("size must be at least 0, got " + size);
    }
  }
}
