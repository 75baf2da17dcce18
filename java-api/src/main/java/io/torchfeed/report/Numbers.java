// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Numbers as texts, and the numbers of an axis. */
final class Numbers {
  private static final String[] PREFIXES = {"", " k", " M", " G", " T"};
  private static final MathContext DIGITS = new MathContext(4);
  private static final int TICKS = 4;

  private Numbers() {}

  /** Returns a number with four digits at most. */
  static String text(double value) {
    double size = Math.abs(value);
    if (!Double.isFinite(value)) {
      return Double.toString(value);
    }
    if (size != 0 && (size < 1e-4 || size >= 1e15)) {
      return String.format(Locale.ROOT, "%.2e", value);
    }
    int prefix = 0;
    double scaled = value;
    while (Math.abs(scaled) >= 1e4 && prefix < PREFIXES.length - 1) {
      scaled /= 1000;
      prefix++;
    }
    BigDecimal rounded = BigDecimal.valueOf(scaled).round(DIGITS);
    String plain = rounded.signum() == 0 ? "0" : rounded.stripTrailingZeros().toPlainString();
    return plain + PREFIXES[prefix];
  }

  static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f %%", 100 * share);
  }

  static String count(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  static String seconds(double seconds) {
    if (seconds < 1) {
      return text(1000 * seconds) + " ms";
    }
    long whole = Math.round(seconds);
    return seconds < 120
        ? text(seconds) + " s"
        : whole < 7200
            ? whole / 60 + " min " + whole % 60 + " s"
            : whole / 3600 + " h " + whole / 60 % 60 + " min";
  }

  /** Returns some round numbers in a range. */
  static List<Double> ticks(double low, double high) {
    double raw = (high - low) / TICKS;
    double power = Math.pow(10, Math.floor(Math.log10(raw)));
    double part = raw / power;
    double step = power * (part > 5 ? 10 : part > 2 ? 5 : part > 1 ? 2 : 1);
    List<Double> ticks = new ArrayList<>();
    for (double i = Math.ceil(low / step);
        i * step <= high * (1 + 1e-9) && ticks.size() < 12;
        i++) {
      ticks.add(i * step);
    }
    return ticks;
  }
}
