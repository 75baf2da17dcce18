// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A text of JSON in which one name, text, number or constant is another value. */
public final class JsonMutations {
  private static final Pattern TOKEN =
      Pattern.compile(
          "\"(?:[^\"\\\\]|\\\\.)*\"|-?\\d+(?:\\.\\d+)?(?:[eE][-+]?\\d+)?|true|false|null");
  private static final List<String> VALUES =
      List.of(
          "-1",
          "0",
          "3",
          "2147483648",
          "-9223372036854775808",
          "9223372036854775807",
          "9223372036854775808",
          "1.5",
          "1e400",
          "-1e-400",
          "\"\"",
          "\"x\"",
          "true",
          "null",
          "[]",
          "[1,\"x\"]",
          "{}");

  private JsonMutations() {}

  /** Returns the text with each of its tokens replaced by values of all types. */
  public static List<String> of(String json) {
    List<String> all = new ArrayList<>();
    Matcher token = TOKEN.matcher(json);
    while (token.find()) {
      for (String value : VALUES) {
        all.add(json.substring(0, token.start()) + value + json.substring(token.end()));
      }
    }
    return all;
  }
}
