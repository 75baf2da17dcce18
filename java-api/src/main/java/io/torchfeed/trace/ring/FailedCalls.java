// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import io.torchfeed.internal.Failures;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The last operations that have failed, with the places of their calls. Thread-safe. */
final class FailedCalls {
  private static final int MAX_CALLS = 64;

  /**
   * A failed operation.
   *
   * @param site the place of the call in the program; empty if unknown
   * @param reason the failure
   */
  record FailedCall(GroupSpan span, String site, String reason) {}

  private final Deque<FailedCall> calls = new ArrayDeque<>();

  synchronized void add(GroupSpan span, String site, Throwable failure) {
    if (calls.size() == MAX_CALLS) {
      calls.removeFirst();
    }
    calls.add(new FailedCall(span, site, Failures.describe(failure)));
  }

  synchronized List<FailedCall> all() {
    return List.copyOf(calls);
  }
}
