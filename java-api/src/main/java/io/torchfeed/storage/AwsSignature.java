// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.internal.Sha256;
import java.net.URI;
import java.security.GeneralSecurityException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signature Version 4 of AWS for requests to S3 without a body.
 *
 * <p>Source: AWS, <i>Signature Version 4 for API requests</i>; compared with botocore.
 */
final class AwsSignature {
  private static final String ALGORITHM = "AWS4-HMAC-SHA256";
  private static final String EMPTY = Sha256.hex(new byte[0]);
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'", Locale.ROOT).withZone(ZoneOffset.UTC);

  private AwsSignature() {}

  /**
   * Returns the headers that sign a GET.
   *
   * @param uri with path and query as {@link #encoded}, the parameters in the order of their names
   * @param more other headers to sign
   */
  static Map<String, String> headers(
      URI uri, S3Keys keys, String region, Instant now, Map<String, String> more) {
    String time = TIME.format(now);
    String scope = "%s/%s/s3/aws4_request".formatted(time.substring(0, 8), region);
    Map<String, String> headers = new TreeMap<>();
    more.forEach((name, value) -> headers.put(name.toLowerCase(Locale.ROOT), value.strip()));
    headers.put("x-amz-content-sha256", EMPTY);
    headers.put("x-amz-date", time);
    String token = keys.sessionToken();
    if (token != null) {
      headers.put("x-amz-security-token", token);
    }
    Map<String, String> signed = new TreeMap<>(headers);
    signed.put("host", host(uri));
    String names = String.join(";", signed.keySet());
    String request =
        String.join(
            "\n",
            "GET",
            uri.getRawPath().isEmpty() ? "/" : uri.getRawPath(),
            uri.getRawQuery() == null ? "" : uri.getRawQuery(),
            signed.entrySet().stream()
                .map(each -> each.getKey() + ":" + each.getValue() + "\n")
                .collect(Collectors.joining()),
            names,
            EMPTY);
    String text = String.join("\n", ALGORITHM, time, scope, Sha256.hex(request));
    byte[] key = ("AWS4" + keys.secretAccessKey()).getBytes(UTF_8);
    for (String part : scope.split("/", -1)) {
      key = hmac(key, part);
    }
    headers.put(
        "Authorization",
        "%s Credential=%s/%s, SignedHeaders=%s, Signature=%s"
            .formatted(
                ALGORITHM,
                keys.accessKeyId(),
                scope,
                names,
                HexFormat.of().formatHex(hmac(key, text))));
    return headers;
  }

  /** Returns the header that java.net.http sends. */
  private static String host(URI uri) {
    boolean isUsual = uri.getPort() == ("https".equalsIgnoreCase(uri.getScheme()) ? 443 : 80);
    return uri.getPort() < 0 || isUsual ? uri.getHost() : uri.getHost() + ":" + uri.getPort();
  }

  private static byte[] hmac(byte[] key, String text) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      return mac.doFinal(text.getBytes(UTF_8));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has HmacSHA256", e);
    }
  }

  /**
   * Returns a text for an address: all bytes of UTF-8 except letters, digits and {@code -._~} as
   * {@code %XX}.
   *
   * @param kept one more character that stays, such as {@code /} in paths
   */
  static String encoded(String text, char kept) {
    StringBuilder encoded = new StringBuilder();
    for (byte each : text.getBytes(UTF_8)) {
      char c = (char) (each & 0xFF);
      boolean isPlain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      if (isPlain || "-._~".indexOf(c) >= 0 || c == kept) {
        encoded.append(c);
      } else {
        encoded.append('%').append(HexFormat.of().withUpperCase().toHexDigits(each));
      }
    }
    return encoded.toString();
  }
}
