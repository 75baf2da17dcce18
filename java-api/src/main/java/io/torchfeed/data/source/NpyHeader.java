// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The header of an npy file.
 *
 * @param descr the dtype, for example {@code <f4}
 * @param fortranOrder whether the first index varies fastest
 * @param shape the sizes
 */
record NpyHeader(
    String descr,
    boolean fortranOrder,
    @SuppressWarnings("ArrayRecordComponent") long[] shape) { // never compared
  private static final Set<String> KEYS = Set.of("descr", "fortran_order", "shape");

  static NpyHeader parse(FileHead file, String text) {
    Map<String, Object> facts;
    try {
      facts = new Literal(text).dictionary();
    } catch (IllegalArgumentException e) {
      throw malformed(file, text, e);
    }
    if (facts.get("descr") instanceof List) {
      throw file.refused(
          "must be of one dtype", "a structured one; save each of its fields as a file");
    }
    if (facts.keySet().equals(KEYS)
        && facts.get("descr") instanceof String descr
        && facts.get("fortran_order") instanceof Boolean fortranOrder
        && facts.get("shape") instanceof long[] shape) {
      return new NpyHeader(descr, fortranOrder, shape);
    }
    throw malformed(file, text, null);
  }

  private static IllegalArgumentException malformed(
      FileHead file, String text, @Nullable Throwable cause) {
    IllegalArgumentException refused =
        file.refused(
            "must have an npy header with descr, fortran_order and shape",
            "\"" + FieldFormat.quote(text.strip()) + "\"");
    refused.initCause(cause);
    return refused;
  }

  /** A parser of the Python literals that numpy writes. */
  private static final class Literal {
    private final String text;
    private int at;

    Literal(String text) {
      this.text = text;
    }

    Map<String, Object> dictionary() {
      Map<String, Object> entries = new HashMap<>();
      expect('{');
      while (!skip('}')) {
        String key = string();
        expect(':');
        if (entries.put(key, value()) != null) {
          throw unexpected();
        }
        if (!skip(',')) {
          expect('}');
          break;
        }
      }
      if (peek() != 0) {
        throw unexpected();
      }
      return entries;
    }

    private Object value() {
      return switch (peek()) {
        case '(' -> tuple();
        case '[' -> structure();
        case 'T', 'F' -> truth();
        default -> string();
      };
    }

    /** Skips a structured dtype, which is rejected as a whole. */
    private List<Object> structure() {
      at = Math.max(at, text.lastIndexOf(']')) + 1;
      return List.of();
    }

    private Boolean truth() {
      boolean known = text.startsWith("True", at);
      if (!known && !text.startsWith("False", at)) {
        throw unexpected();
      }
      at += known ? 4 : 5;
      return known;
    }

    private String string() {
      char quote = peek();
      if (quote != '\'' && quote != '"') {
        throw unexpected();
      }
      int end = text.indexOf(quote, at + 1);
      if (end < 0) {
        throw unexpected();
      }
      String string = text.substring(at + 1, end);
      at = end + 1;
      return string;
    }

    private long[] tuple() {
      List<Long> sizes = new ArrayList<>();
      expect('(');
      while (!skip(')')) {
        sizes.add(number());
        if (!skip(',')) {
          expect(')');
          break;
        }
      }
      return sizes.stream().mapToLong(Long::longValue).toArray();
    }

    private long number() {
      peek();
      int from = at;
      while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
        at++;
      }
      long number = Long.parseLong(text.substring(from, at)); // also rejects an empty number
      skip('L'); // as Python 2 wrote it
      return number;
    }

    private boolean skip(char wanted) {
      if (peek() != wanted) {
        return false;
      }
      at++;
      return true;
    }

    private void expect(char wanted) {
      if (!skip(wanted)) {
        throw unexpected();
      }
    }

    /** Returns the next character that is not white space, or 0 at the end. */
    private char peek() {
      while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
        at++;
      }
      return at < text.length() ? text.charAt(at) : 0;
    }

    private IllegalArgumentException unexpected() {
      return new IllegalArgumentException("unexpected at character " + at);
    }
  }
}
