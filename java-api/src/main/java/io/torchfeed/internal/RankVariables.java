// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

/** The environment variables that a launcher sets for its ranks, in addition to torchrun's. */
public final class RankVariables {
  /** The id that all processes of a job share. */
  public static final String JOB = "TORCHFEED_JOB_ID";

  /** The process id of the launcher. */
  public static final String LAUNCHER = "TORCHFEED_LAUNCHER_PID";

  /** The path of the file with which a rank says that it lost a peer; each rank has its own. */
  public static final String LOSS_NOTE = "TORCHFEED_LOSS_NOTE";

  /** The name or address of the machine of an elastic job's coordinator. */
  public static final String COORDINATOR_HOST = "TORCHFEED_COORDINATOR_HOST";

  /** The port at which that coordinator listens. */
  public static final String COORDINATOR_PORT = "TORCHFEED_COORDINATOR_PORT";

  /** The secret of that job. */
  public static final String SECRET = "TORCHFEED_JOB_SECRET";

  /** The path of a file with that secret. */
  public static final String SECRET_FILE = "TORCHFEED_JOB_SECRET_FILE";

  /** The name of a process of an elastic job; each start has another. */
  public static final String PROCESS = "TORCHFEED_PROCESS_NAME";

  /** The name of the generation with whose state an elastic job starts, to run it again. */
  public static final String FROM_GENERATION = "TORCHFEED_FROM_GENERATION";

  /** The folder for dumps of the trace of a process; it records one from its start. */
  public static final String TRACE = "TORCHFEED_TRACE";

  /** The events that this trace keeps. */
  public static final String TRACE_EVENTS = "TORCHFEED_TRACE_EVENTS";

  /** The name of a signal that asks for a dump, without SIG. */
  public static final String TRACE_SIGNAL = "TORCHFEED_TRACE_SIGNAL";

  private RankVariables() {}
}
