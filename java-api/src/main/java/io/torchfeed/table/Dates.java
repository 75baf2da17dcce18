// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.ResolverStyle;
import java.time.temporal.TemporalAccessor;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Dates as days since 1970-01-01. */
final class Dates {
  private static final double SECONDS = 86_400;
  private static final double NANOS = 1e9;
  private static final int MAX_FORMATS = 1000;
  private static final Map<String, DateTimeFormatter> FORMATS = new ConcurrentHashMap<>();

  private Dates() {}

  /**
   * Requires a pattern of dates.
   *
   * @throws IllegalArgumentException if it is malformed
   */
  static void requirePattern(String pattern) {
    format(pattern);
  }

  /**
   * Returns the days of a date.
   *
   * @param pattern of text; empty for ISO 8601
   * @throws DateTimeException if it is no date
   */
  static double days(Object value, String pattern) {
    if (value instanceof LocalDate date) {
      return (double) date.toEpochDay();
    } else if (value instanceof Instant instant) {
      return days(instant);
    } else if (value instanceof LocalDateTime time) {
      return days(time.toInstant(ZoneOffset.UTC));
    } else if (value instanceof String text) {
      return days(parsed(text, pattern), "");
    } else if (value instanceof OffsetDateTime time) {
      return days(time.toInstant());
    }
    throw new DateTimeException("no date: " + value.getClass());
  }

  private static double days(Instant instant) {
    return (instant.getEpochSecond() + instant.getNano() / NANOS) / SECONDS;
  }

  private static TemporalAccessor parsed(String text, String pattern) {
    if (!pattern.isEmpty()) {
      return format(pattern)
          .parseBest(text, OffsetDateTime::from, LocalDateTime::from, LocalDate::from);
    }
    if (text.indexOf(':') < 0) {
      return LocalDate.parse(text);
    }
    return DateTimeFormatter.ISO_DATE_TIME.parseBest(
        text.replace(' ', 'T'), OffsetDateTime::from, LocalDateTime::from);
  }

  private static DateTimeFormatter format(String pattern) {
    if (FORMATS.size() > MAX_FORMATS) {
      FORMATS.clear();
    }
    return FORMATS.computeIfAbsent(pattern, Dates::strict);
  }

  /** A year of the era, the usual letter, would need an era to be strict. */
  private static DateTimeFormatter strict(String pattern) {
    StringBuilder years = new StringBuilder();
    boolean isQuoted = false;
    for (int i = 0; i < pattern.length(); i++) {
      char each = pattern.charAt(i);
      isQuoted ^= each == '\'';
      years.append(each == 'y' && !isQuoted ? 'u' : each);
    }
    return DateTimeFormatter.ofPattern(years.toString(), Locale.ROOT)
        .withResolverStyle(ResolverStyle.STRICT);
  }
}
