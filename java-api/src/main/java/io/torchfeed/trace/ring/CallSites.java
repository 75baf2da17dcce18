// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import java.util.Arrays;
import java.util.List;

/** Places in the program that called this library. */
final class CallSites {
  private static final int MAX_FRAMES = 48;
  private static final List<String> OF_LIBRARIES =
      List.of("java.", "javax.", "jdk.", "sun.", "org.bytedeco.", "io.torchfeed.");
  private static final List<String> OF_PROGRAMS =
      List.of("io.torchfeed.examples.", "io.torchfeed.testing.");

  private CallSites() {}

  /** Returns the place of this thread; empty if no frame is of a program. */
  static String here() {
    return StackWalker.getInstance()
        .walk(
            frames ->
                frames
                    .filter(frame -> isOfProgram(frame.getClassName()))
                    .findFirst()
                    .map(frame -> shown(frame.toStackTraceElement())))
        .orElse("");
  }

  /** Returns the place in a stack; empty if no frame is of a program. */
  static String in(List<String> stack) {
    return stack.stream().filter(CallSites::isOfProgram).findFirst().orElse("");
  }

  /** Returns the frames of a thread, the newest first. */
  static List<String> stack(Thread thread) {
    return Arrays.stream(thread.getStackTrace()).limit(MAX_FRAMES).map(CallSites::shown).toList();
  }

  /** Returns a frame without the names of loader and module. */
  private static String shown(StackTraceElement frame) {
    return new StackTraceElement(
            frame.getClassName(), frame.getMethodName(), frame.getFileName(), frame.getLineNumber())
        .toString();
  }

  private static boolean isOfProgram(String name) {
    return startsWith(OF_PROGRAMS, name) || !startsWith(OF_LIBRARIES, name);
  }

  private static boolean startsWith(List<String> packages, String name) {
    return packages.stream().anyMatch(name::startsWith);
  }
}
