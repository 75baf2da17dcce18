// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

/** The environment variables that a launcher sets for its ranks, besides those of torchrun. */
public final class RankVariables {
  /** The id that all processes of a job share. */
  public static final String JOB = "TORCHFEED_JOB_ID";

  /** The process id of the launcher. */
  public static final String LAUNCHER = "TORCHFEED_LAUNCHER_PID";

  /** The path of the file with which a rank says that it lost a peer; each rank has its own. */
  public static final String LOSS_NOTE = "TORCHFEED_LOSS_NOTE";

  private RankVariables() {}
}
