// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.internal.ReservedPort;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;

/** A launch of a fixed number of ranks: all complete it, or none. */
final class FixedLaunch {
  private final LaunchSettings settings;
  private final String job = UUID.randomUUID().toString();

  FixedLaunch(LaunchSettings settings) {
    this.settings = settings;
  }

  void run() throws InterruptedException {
    try (ReservedPort port = ReservedPort.open();
        LossNotes notes = LossNotes.create();
        RunningRanks running = new RunningRanks(settings.grace(), RunningRanks.Patience.DEFAULT);
        SignalForwarding signals = running.forward(settings.forwarded())) {
      running.atShutdown(notes::close);
      LogFolder logs = LogFolder.open(settings.logs());
      for (int i = 0; i < settings.ranks(); i++) {
        int rank = i;
        running.start(
            onOutputFailure ->
                start(rank, port.number(), notes.of("rank-" + rank), logs, onOutputFailure));
      }
      running.await();
    } catch (IOException e) {
      throw LaunchException.notStarted(0, e);
    }
  }

  private boolean inheritsOutput() {
    return !settings.prefixRankZero() && settings.logs() == null && settings.shown().contains(0);
  }

  private RankProcess start(
      int rank, int port, Path lossNote, LogFolder logs, Consumer<RankProcess> onOutputFailure) {
    ProcessBuilder builder = JvmCommand.of(settings, job, lossNote);
    Map<String, String> variables = builder.environment();
    variables.put("RANK", Integer.toString(rank));
    variables.put("LOCAL_RANK", Integer.toString(rank));
    variables.put("WORLD_SIZE", Integer.toString(settings.ranks()));
    variables.put("LOCAL_WORLD_SIZE", Integer.toString(settings.ranks()));
    variables.put("MASTER_ADDR", "127.0.0.1");
    variables.put("MASTER_PORT", Integer.toString(port));
    try {
      if (rank == 0 && inheritsOutput()) {
        return RankProcess.inheriting(rank, builder, lossNote);
      }
      String name = RankProcess.nameOf(rank);
      RankOutput output = new RankOutput(name, rank, settings.shown(), logs.log(name));
      return RankProcess.adopt(name, rank, builder.start(), lossNote, output, onOutputFailure);
    } catch (IOException e) {
      throw LaunchException.notStarted(rank, e);
    }
  }
}
