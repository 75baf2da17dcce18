// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The slowest steps of a run. Curves have the mean of some steps; traces, where a run has them, can
 * give single ones in the same form.
 */
interface SlowSteps {
  /**
   * Some steps with the parts of their time.
   *
   * @param label their numbers
   * @param seconds of one of them
   * @param dataShare the part in which no batch was ready
   * @param ranksShare the part in which other ranks were waited for
   */
  record Slow(String label, double seconds, double dataShare, double ranksShare) {}

  /**
   * Returns the slowest steps.
   *
   * @return slowest first, at most ten
   */
  List<Slow> slowest();

  /** Returns the slowest points of curves. */
  static SlowSteps ofCurves(Map<String, Curve> curves) {
    return () -> {
      Curve seconds = curves.get("train/seconds per step");
      List<Slow> all = new ArrayList<>();
      for (int i = 0; seconds != null && i < seconds.size(); i++) {
        long step = seconds.steps()[i];
        long before = i == 0 ? 0 : seconds.steps()[i - 1];
        String label =
            step - before > 1
                ? "%s to %s".formatted(Numbers.count(before + 1), Numbers.count(step))
                : Numbers.count(step);
        all.add(
            new Slow(
                label,
                seconds.values()[i],
                at(curves.get("train/wait share"), step),
                at(curves.get("train/reduction wait share"), step)));
      }
      all.sort(Comparator.comparingDouble(Slow::seconds).reversed());
      return List.copyOf(all.subList(0, Math.min(10, all.size())));
    };
  }

  private static double at(@Nullable Curve curve, long step) {
    int place = curve == null ? -1 : Arrays.binarySearch(curve.steps(), step);
    return curve == null || place < 0 ? 0 : Math.max(0, Math.min(1, curve.values()[place]));
  }
}
