// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** SHA-256 digests. */
public final class Sha256 {
  private Sha256() {}

  /** Returns a digest of nothing yet. */
  public static MessageDigest start() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  /** Ends a digest and returns it as 64 hexadecimal digits. */
  public static String hex(MessageDigest digest) {
    return HexFormat.of().formatHex(digest.digest());
  }

  /** Returns the digest of a text in UTF-8 as 64 hexadecimal digits. */
  public static String hex(String text) {
    return hex(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Returns the digest of bytes as 64 hexadecimal digits. */
  public static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(start().digest(bytes));
  }
}
