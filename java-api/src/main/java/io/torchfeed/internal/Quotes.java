// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

/** External text, shortened to fit a message. */
public final class Quotes {
  private static final int MAX_LENGTH = 128;

  private Quotes() {}

  /** Returns the text itself, or its first characters, an ellipsis and its length. */
  public static String shortened(String text) {
    if (text.length() <= MAX_LENGTH) {
      return text;
    }
    boolean splitsPair = Character.isHighSurrogate(text.charAt(MAX_LENGTH - 1));
    String head = text.substring(0, splitsPair ? MAX_LENGTH - 1 : MAX_LENGTH);
    return "%s... (%d characters)".formatted(head, text.length());
  }
}
