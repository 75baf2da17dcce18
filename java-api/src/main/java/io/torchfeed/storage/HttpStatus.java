// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.storage.Retries.PassingException;
import java.net.http.HttpHeaders;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The meaning of the status of an answer without bytes. */
final class HttpStatus {
  private static final Set<Integer> PASSING = Set.of(408, 429, 500, 502, 503, 504);
  private static final Pattern SECONDS = Pattern.compile("\\d{1,9}");

  /** The code of an error of a store like S3, such as {@code NoSuchKey}. */
  private static final Pattern CODE = Pattern.compile("<Code>(\\w{1,64})</Code>");

  private static final String DENIED = "; check the credentials and their permissions";

  private HttpStatus() {}

  /** Throws if another request may have another answer. */
  static void requirePassing(int status, HttpHeaders headers, String text) throws PassingException {
    boolean isLate = status == 400 && codeOf(text).equals("RequestTimeout");
    if (PASSING.contains(status) || isLate) {
      Duration wait = headers.firstValue("Retry-After").map(HttpStatus::wait).orElse(Duration.ZERO);
      throw new PassingException(answered(status, text), wait, null);
    }
  }

  private static Duration wait(String retryAfter) {
    String value = retryAfter.strip();
    if (SECONDS.matcher(value).matches()) {
      return Duration.ofSeconds(Long.parseLong(value));
    }
    try {
      Instant until = ZonedDateTime.parse(value, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
      Duration left = Duration.between(Instant.now(), until);
      return left.isNegative() ? Duration.ZERO : left;
    } catch (DateTimeException e) {
      return Duration.ZERO; // no time that could be waited for
    }
  }

  static Problem problemOf(int status, String text) {
    return switch (status) {
      case 400 -> isOfToken(text) ? Problem.DENIED : Problem.WRONG_ANSWER;
      case 401, 403, 407 -> Problem.DENIED;
      case 404, 410 -> Problem.MISSING;
      case 412 -> Problem.CHANGED;
      default -> Problem.WRONG_ANSWER;
    };
  }

  private static boolean isOfToken(String text) {
    return codeOf(text).endsWith("Token");
  }

  /** Returns the reason for messages: nothing of the text but the code of an error. */
  static String reason(int status, String text) {
    String cure =
        switch (status) {
          case 200 ->
              "with the whole object in place of a range; it must serve ranges of bytes, "
                  + "or the object be downloaded first";
          case 400 -> isOfToken(text) ? DENIED : "";
          case 401, 403, 407 -> DENIED;
          case 404, 410 -> ": no such object";
          case 412 -> ": the object has changed since its first bytes were read; open it again";
          default -> "";
        };
    return answered(status, text) + (cure.startsWith("with") ? " " : "") + cure;
  }

  private static String answered(int status, String text) {
    String code = codeOf(text);
    return "the server answered %d%s".formatted(status, code.isEmpty() ? "" : " " + code);
  }

  private static String codeOf(String text) {
    Matcher code = CODE.matcher(text);
    return code.find() ? code.group(1) : "";
  }
}
