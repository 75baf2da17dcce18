// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.ArrayList;
import java.util.List;

/** Does with wrong lines what the policy says. */
final class ErrorLog {
  private static final int MOST_LISTED = 10_000;

  private final ErrorPolicy policy;
  private final List<LineError> listed = new ArrayList<>();
  private long count;

  ErrorLog(ErrorPolicy policy) {
    this.policy = policy;
  }

  /**
   * The cursor's line breaks a rule.
   *
   * @throws LineException if that ends the reading
   */
  void add(LineCursor line, MalformedLineException problem) {
    String rule = String.valueOf(problem.getMessage());
    if (policy == ErrorPolicy.FAIL) {
      throw new LineException(line.error(rule), problem);
    }
    if (policy == ErrorPolicy.COLLECT && listed.size() < MOST_LISTED) {
      listed.add(line.error(rule));
    }
    count++;
  }

  LineErrors errors() {
    return new LineErrors(count, listed);
  }
}
