// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** The keys of a user of S3. Immutable; {@code toString} has none of them. */
public final class S3Keys {
  private final String accessKeyId;
  private final String secretAccessKey;
  private final @Nullable String sessionToken;
  private final @Nullable Instant expires;

  private S3Keys(
      String accessKeyId,
      String secretAccessKey,
      @Nullable String sessionToken,
      @Nullable Instant expires) {
    this.accessKeyId = accessKeyId;
    this.secretAccessKey = secretAccessKey;
    this.sessionToken = sessionToken;
    this.expires = expires;
  }

  /**
   * Returns keys that do not expire.
   *
   * @param accessKeyId the name of the key
   * @param secretAccessKey the secret
   * @return the keys
   * @throws IllegalArgumentException if one is empty, or has spaces or other characters than
   *     printable ones of ASCII; the message has none of it
   */
  public static S3Keys of(String accessKeyId, String secretAccessKey) {
    return new S3Keys(
        checked("accessKeyId", accessKeyId),
        checked("secretAccessKey", secretAccessKey),
        null,
        null);
  }

  private static String checked(String name, String value) {
    requireNonNull(value, name);
    if (value.isEmpty() || !value.chars().allMatch(c -> c > ' ' && c < 0x7F)) {
      throw new IllegalArgumentException(
          name + " must have printable characters of ASCII only, and at least one");
    }
    return value;
  }

  /**
   * Adds the token of a session.
   *
   * @param token the token
   * @return a copy with the token
   * @throws IllegalArgumentException as in {@link #of}
   */
  public S3Keys withSessionToken(String token) {
    return new S3Keys(accessKeyId, secretAccessKey, checked("token", token), expires);
  }

  /**
   * Sets when the keys expire.
   *
   * @param time the last moment
   * @return a copy with the time
   */
  public S3Keys withExpiry(Instant time) {
    return new S3Keys(accessKeyId, secretAccessKey, sessionToken, requireNonNull(time, "time"));
  }

  String accessKeyId() {
    return accessKeyId;
  }

  String secretAccessKey() {
    return secretAccessKey;
  }

  @Nullable String sessionToken() {
    return sessionToken;
  }

  @Nullable Instant expires() {
    return expires;
  }

  @Override
  public String toString() {
    return "S3Keys[%s]".formatted(expires == null ? "" : "expires=" + expires);
  }
}
