// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The launcher that has started this process. */
public final class ParentProcess {
  private ParentProcess() {}

  /**
   * Returns the launcher that the variables name if it is the parent of this process. A child of a
   * rank inherits the variable, but the launcher is not its parent.
   *
   * @return its process id; empty if no launcher is named, or another process is the parent
   * @throws IllegalArgumentException if the variable is no process id
   */
  public static OptionalLong launcher(Map<String, String> variables) {
    @Nullable String pid = variables.get(RankVariables.LAUNCHER);
    if (pid == null) {
      return OptionalLong.empty();
    }
    try {
      long launcher = Long.parseLong(pid);
      return isParent(launcher) ? OptionalLong.of(launcher) : OptionalLong.empty();
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "environment variable "
              + RankVariables.LAUNCHER
              + " must be a process id, got '"
              + pid
              + "'",
          e);
    }
  }

  /**
   * Returns whether a process is the parent of this one. Ranks are direct children of the launcher,
   * so they are reparented when it is gone.
   */
  public static boolean isParent(long pid) {
    return ProcessHandle.current().parent().map(ProcessHandle::pid).orElse(-1L) == pid;
  }
}
