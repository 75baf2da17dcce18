// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.examples.common.Progress;
import picocli.CommandLine;

/** A rank of {@link RanksTest}; rank 1 exits silently during the iterations. */
public final class DyingRank {
  static final int DIED = 9;

  private DyingRank() {}

  public static void main(String[] arguments) {
    CommandLine command = Main.commandLine(System.getenv());
    command.parseArgs(arguments);
    Settings settings = command.<Main>getCommand().settings();
    try (ProcessGroup group = ProcessGroup.join()) {
      GraphRank.Shown shown = (title, whole) -> dying(group.rank() == 1 && title.equals("ranking"));
      new GraphRank(settings, group, shown).run();
    } catch (PeerLostException e) {
      System.out.println("noticed: " + e.getMessage());
      Runtime.getRuntime().halt(1);
    }
  }

  private static Progress dying(boolean dies) {
    return Progress.of(
        done -> {
          if (dies && done == 3) {
            Runtime.getRuntime().halt(DIED);
          }
        },
        () -> {});
  }
}
