// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import io.torchfeed.text.LineCursor;
import io.torchfeed.text.LineException;
import io.torchfeed.text.LineOptions;
import java.util.ArrayList;
import java.util.List;

/** A log that treats malformed lines according to the policy. */
final class ErrorLog {
  private static final int MAX_LISTED = 10_000;

  private final ErrorPolicy policy;
  private final List<LineOptions.LineError> listed = new ArrayList<>();
  private long count;

  ErrorLog(ErrorPolicy policy) {
    this.policy = policy;
  }

  /**
   * Adds the cursor's line, which is malformed.
   *
   * @throws LineException if the policy is to fail
   */
  void add(LineCursor line, LineParser.MalformedLineException problem) {
    String rule = String.valueOf(problem.getMessage());
    if (policy == ErrorPolicy.FAIL) {
      throw new LineException(line.error(rule), problem);
    }
    if (policy == ErrorPolicy.COLLECT && listed.size() < MAX_LISTED) {
      listed.add(line.error(rule));
    }
    count++;
  }

  Edges.LineErrors errors() {
    return new Edges.LineErrors(count, listed);
  }
}
