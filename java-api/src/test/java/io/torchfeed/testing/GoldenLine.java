// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;

/** A line of a golden file from Python: a name and {@code key=value} words. */
public record GoldenLine(String line, String name, Map<String, String> fields) {
  public static List<String> read(String file) {
    try (InputStream in =
            requireNonNull(GoldenLine.class.getResourceAsStream("/golden/" + file), file);
        BufferedReader reader = new BufferedReader(new InputStreamReader(in, UTF_8))) {
      return reader.lines().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static GoldenLine parse(String line) {
    Map<String, String> fields = new HashMap<>();
    String[] words = line.split(" ", -1);
    for (String word : Arrays.asList(words).subList(1, words.length)) {
      int sign = word.indexOf('=');
      fields.put(sign < 0 ? word : word.substring(0, sign), word.substring(sign + 1));
    }
    return new GoldenLine(line, words[0], fields);
  }

  public boolean has(String key) {
    return fields.containsKey(key);
  }

  public String text(String key) {
    return fields.getOrDefault(key, "");
  }

  /** Returns the number, or 0 if there is none. */
  public long number(String key) {
    return Long.parseLong(fields.getOrDefault(key, "0"));
  }

  public int integer(String key) {
    return Math.toIntExact(number(key));
  }

  public boolean replacement() {
    return number("replacement") == 1;
  }

  public boolean dropLast() {
    return number("drop_last") == 1;
  }

  private String[] words(String key) {
    return text(key).isEmpty() ? new String[0] : text(key).split(",", -1);
  }

  /** Returns the listed integers, or {@code spread:m}'s. */
  public long[] list(String key) {
    if (text(key).startsWith("spread:")) {
      return IntStream.range(0, generated(key)).mapToLong(i -> 7919L * i).toArray();
    }
    return Arrays.stream(words(key)).mapToLong(Long::parseLong).toArray();
  }

  /** Returns the listed fractions, or {@code ramp:m}'s. */
  public double[] decimals(String key) {
    if (text(key).startsWith("ramp:")) {
      IntToDoubleFunction ramp = i -> 7919L * i % 1009 / 8.0;
      return IntStream.range(0, generated(key)).mapToDouble(ramp).toArray();
    }
    return Arrays.stream(words(key)).mapToDouble(GoldenLine::decimal).toArray();
  }

  private static double decimal(String word) {
    return switch (word) {
      case "nan" -> Double.NaN;
      case "inf" -> Double.POSITIVE_INFINITY;
      case "-inf" -> Double.NEGATIVE_INFINITY;
      default -> Double.parseDouble(word);
    };
  }

  private int generated(String key) {
    return Integer.parseInt(text(key).substring(text(key).indexOf(':') + 1));
  }

  /** Asserts that the values have the count, first and last values and hash of this line. */
  public void check(long[] all) {
    long[] head = list("head");
    long[] tail = list("tail");
    assertThat(all).as(line).hasSize(integer("count"));
    assertThat(Arrays.copyOf(all, head.length)).as(line).isEqualTo(head);
    assertThat(Arrays.copyOfRange(all, all.length - tail.length, all.length))
        .as(line)
        .isEqualTo(tail);
    assertThat(Cursors.hash(all)).as(line).isEqualTo(number("hash"));
  }
}
