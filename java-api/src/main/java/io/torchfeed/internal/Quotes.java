// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.util.Collection;
import java.util.HexFormat;
import java.util.stream.Collectors;

/** External text, shortened to fit a message, or made printable. */
public final class Quotes {
  private static final int MAX_LENGTH = 128;
  private static final int MAX_LISTED = 10;

  private Quotes() {}

  /**
   * Returns a text without characters that change how a terminal or a log shows others: control
   * characters, separators of lines, signs of direction and halves of pairs are written as in Java.
   */
  public static String printable(String text) {
    StringBuilder printable = new StringBuilder();
    text.codePoints()
        .forEach(
            code -> {
              switch (Character.getType(code)) {
                case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE ->
                    printable.append(
                        code == '\n'
                            ? "\\n"
                            : "\\u%s".formatted(HexFormat.of().toHexDigits(code, 4)));
                default -> printable.appendCodePoint(code);
              }
            });
    return printable.toString();
  }

  /** Returns the text itself, or its first characters, an ellipsis and its length. */
  public static String shortened(String text) {
    return shortened(text, MAX_LENGTH);
  }

  /** Returns the text itself or, if it is longer than a limit, its beginning and its length. */
  public static String shortened(String text, int limit) {
    if (text.length() <= limit) {
      return text;
    }
    boolean splitsPair = Character.isHighSurrogate(text.charAt(limit - 1));
    String head = text.substring(0, splitsPair ? limit - 1 : limit);
    return "%s... (%d characters)".formatted(head, text.length());
  }

  /** Returns the first elements of a list, and how many more there are. */
  public static String listed(String separator, Collection<?> values) {
    String first =
        values.stream()
            .limit(MAX_LISTED)
            .map(value -> shortened(String.valueOf(value)))
            .collect(Collectors.joining(separator));
    int others = values.size() - MAX_LISTED;
    return others > 0 ? "%s and %d more".formatted(first, others) : first;
  }
}
