// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Digests of plans; checkpoints hold them, so the text that goes in must never change. */
final class PlanDigest {
  private PlanDigest() {}

  static String of(String kind, Object... parameters) {
    StringBuilder text = new StringBuilder(kind);
    for (Object parameter : parameters) {
      text.append('|').append(parameter);
    }
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.toString().getBytes(UTF_8));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }
}
