// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.distributed.rendezvous.TimeLimitedCall;

/** A look at another thread's work, instead of a pause in which it probably gets there. */
final class NativeWait {
  private NativeWait() {}

  /** Returns once {@link #isReached}. */
  static void await(Thread thread) throws InterruptedException {
    while (!isReached(thread)) {
      if (!thread.isAlive()) {
        throw new AssertionError(thread + " has ended");
      }
      Thread.sleep(2);
    }
  }

  /** Returns whether the thread is in a call of native code, or waits for a thread that is. */
  static boolean isReached(Thread thread) {
    StackTraceElement[] stack = thread.getStackTrace();
    for (StackTraceElement frame : stack) {
      if (frame.getClassName().equals(TimeLimitedCall.class.getName())) {
        return true;
      }
    }
    return stack.length > 0
        && stack[0].isNativeMethod()
        && stack[0].getClassName().startsWith("io.torchfeed.bindings.");
  }
}
