// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.internal.RankVariables;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Starts the processes of an elastic launch. */
final class ElasticStarter {
  private static final int NO_RANK = -1;

  /** The beginning of the name of a process, behind the prefix of its machine. */
  static final String PROCESS = "p";

  /** The variables of torchrun that a process would take for its place. */
  private static final List<String> FIXED_PLACE =
      List.of("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT");

  private final LaunchSettings settings;
  private final RankProcesses all;
  private final LossNotes notes;
  private final LogFolder logs;
  private final ElasticSettings elastic;
  private final int port;
  private final String prefix;

  /**
   * Creates a starter.
   *
   * @param port the port at which the coordinator listens
   * @param prefix of the names of processes, different on each machine
   */
  ElasticStarter(
      LaunchSettings settings,
      RankProcesses all,
      LossNotes notes,
      LogFolder logs,
      ElasticSettings elastic,
      int port,
      String prefix) {
    this.settings = settings;
    this.all = all;
    this.notes = notes;
    this.logs = logs;
    this.elastic = elastic;
    this.port = port;
    this.prefix = prefix;
  }

  /**
   * Starts a process.
   *
   * @param number of the process on this machine
   * @param start from 1 on
   */
  ElasticProcess start(int number, int start) {
    String name = prefix + PROCESS + number + "." + start;
    RankOutput output = output(name);
    RankProcess running =
        all.start(onOutputFailure -> start(name, number, output, onOutputFailure));
    return new ElasticProcess(number, start, running, output);
  }

  private RankOutput output(String name) {
    try {
      return new RankOutput(name, NO_RANK, settings.shown(), logs.log(name));
    } catch (IOException e) {
      throw LaunchException.processNotStarted(name, e);
    }
  }

  private RankProcess start(
      String name, int number, RankOutput output, Consumer<RankProcess> onOutputFailure) {
    Path lossNote = notes.of(name);
    ProcessBuilder builder = JvmCommand.of(settings, elastic.place().job(), lossNote);
    Map<String, String> variables = builder.environment();
    FIXED_PLACE.forEach(variables::remove);
    variables.put("LOCAL_RANK", Integer.toString(number));
    variables.put(RankVariables.COORDINATOR_HOST, elastic.place().host());
    variables.put(RankVariables.COORDINATOR_PORT, Integer.toString(port));
    variables.put(RankVariables.PROCESS, name);
    variables.put(RankVariables.SECRET, elastic.secret().text());
    variables.remove(RankVariables.SECRET_FILE);
    try {
      return RankProcess.adopt(name, number, builder.start(), lossNote, output, onOutputFailure);
    } catch (IOException e) {
      output.close();
      throw LaunchException.processNotStarted(name, e);
    }
  }
}
