// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import io.torchfeed.internal.Quotes;

/** A text of HTML or SVG. Texts and the values of attributes are escaped, names are constants. */
final class Html {
  private final StringBuilder out = new StringBuilder();

  /** Begins an element; attributes are names and values in turn. */
  Html open(String name, String... attributes) {
    out.append('<').append(name);
    for (int i = 0; i < attributes.length; i += 2) {
      out.append(' ').append(attributes[i]).append("=\"").append(escaped(attributes[i + 1]));
      out.append('"');
    }
    out.append('>');
    return this;
  }

  Html close(String name) {
    out.append("</").append(name).append(">\n");
    return this;
  }

  Html text(String text) {
    out.append(escaped(text));
    return this;
  }

  Html element(String name, String text, String... attributes) {
    return open(name, attributes).text(text).close(name);
  }

  /** Adds a constant that is HTML or CSS. */
  Html constant(String html) {
    out.append(html);
    return this;
  }

  private static String escaped(String text) {
    return Quotes.printable(text)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;")
        .replace("'", "&#39;");
  }

  @Override
  public String toString() {
    return out.toString();
  }
}
