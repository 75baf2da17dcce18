// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.GoldenLine;
import java.net.URI;
import java.net.URLDecoder;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Compares signatures with botocore's; see {@code s3_signatures.py}. */
class AwsSignatureTest {
  private static String text(GoldenLine line, String field) {
    return URLDecoder.decode(line.text(field), UTF_8);
  }

  @Test
  void signaturesAreThoseOfBotocore() {
    List<GoldenLine> lines =
        GoldenLine.read("s3_signatures.txt").stream()
            .filter(line -> !line.startsWith("#"))
            .map(GoldenLine::parse)
            .toList();
    assertThat(lines).hasSize(8);
    for (GoldenLine line : lines) {
      S3Keys keys = S3Keys.of(text(line, "id"), text(line, "secret"));
      String token = text(line, "token");
      Map<String, String> more = new TreeMap<>();
      String header = text(line, "header");
      int colon = header.indexOf(':');
      if (colon > 0) {
        more.put(header.substring(0, colon), header.substring(colon + 1));
      }
      Map<String, String> headers =
          AwsSignature.headers(
              URI.create(text(line, "uri")),
              token.isEmpty() ? keys : keys.withSessionToken(token),
              text(line, "region"),
              Instant.parse(text(line, "time")),
              more);
      assertThat(headers)
          .as(line.line())
          .containsEntry("Authorization", text(line, "authorization"));
      assertThat(headers.getOrDefault("x-amz-security-token", "")).isEqualTo(token);
    }
  }

  @Test
  void textsOfAddressesAreThoseThatAreSigned() {
    assertThat(AwsSignature.encoded("a/b c+é~%\u0001", '/')).isEqualTo("a/b%20c%2B%C3%A9~%25%01");
    assertThat(AwsSignature.encoded("a/b", '~')).isEqualTo("a%2Fb");
  }
}
