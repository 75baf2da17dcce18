// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.partition.Digraph;
import io.torchfeed.partition.Duplicates;
import io.torchfeed.partition.EdgeLoader;
import io.torchfeed.partition.ExchangeException;
import io.torchfeed.partition.LineException;
import io.torchfeed.partition.LineParser;
import io.torchfeed.partition.LinePattern;
import io.torchfeed.partition.LocalRanks;
import io.torchfeed.partition.SparseMatrix;
import io.torchfeed.partition.TextPartition;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** The program of the ranks of {@link ExchangeTest}; the first argument says which part. */
public final class ExchangeRank {
  static final int LOST = 3;
  private static final int ROUNDS = 4;

  private ExchangeRank() {}

  public static void main(String[] args) {
    Duration timeout = Duration.ofMillis(Long.getLong("timeout", 60_000));
    try (ProcessGroup group = ProcessGroup.fromEnvironment(timeout)) {
      switch (args[0]) {
        case "messages" -> messages(group);
        case "edges" -> edges(group, args[1]);
        case "dies" -> dies(group, args[1]);
        case "malformed" -> malformed(group, args[1]);
        case "endless" -> endless(group);
        default -> throw new IllegalArgumentException(args[0]);
      }
    }
  }

  /** Longer than a piece, empty, or in between; what each rank sends is known to all. */
  private static byte[] message(int round, int from, int to) {
    Random random = new Random(1000L * round + 10L * from + to);
    int[] lengths = {0, 1, 12_345, PairedMessages.PIECE_BYTES, 2 * PairedMessages.PIECE_BYTES + 7};
    byte[] message = new byte[lengths[random.nextInt(lengths.length)]];
    random.nextBytes(message);
    return message;
  }

  private static void messages(ProcessGroup group) {
    for (int round = 0; round < ROUNDS; round++) {
      byte[][] sent = new byte[group.size()][];
      for (int to = 0; to < sent.length; to++) {
        sent[to] = message(round, group.rank(), to);
      }
      byte[][] received = group.allToAll(sent);
      expect("messages", received.length == group.size());
      for (int from = 0; from < received.length; from++) {
        expect(
            "round %d from %d".formatted(round, from),
            Arrays.equals(received[from], message(round, from, group.rank())));
      }
    }
    refused(group, new byte[group.size() + 1][0]);
    if (group.size() > 1) {
      refused(group, new byte[group.size() + (group.rank() == 0 ? 1 : 0)][0]);
    }
    expect("good again", group.allToAll(new byte[group.size()][3])[0].length == 3);
  }

  private static void refused(ProcessGroup group, byte[][] messages) {
    try {
      group.allToAll(messages);
    } catch (IllegalArgumentException e) {
      return;
    }
    throw new AssertionError("went through with " + messages.length + " messages");
  }

  private static void edges(ProcessGroup group, String file) {
    TextPartition plan = TextPartition.plan(List.of(file), group.size(), LinePattern.FSMAP);
    EdgeLoader loader = EdgeLoader.over(plan).pattern(LinePattern.FSMAP).roundBytes(10_000).build();
    SparseMatrix matrix =
        SparseMatrix.of(loader.load(group.rank(), group::allToAll), group::allToAll);
    SparseMatrix expected =
        LocalRanks.run(
                group.size(),
                (rank, exchange) -> SparseMatrix.of(loader.load(rank, exchange), exchange))
            .get(group.rank());
    expect("cells", matrix.cells().equals(expected.cells()) && matrix.cells().entries() > 0);
    expect("rows", matrix.rowIds().equals(expected.rowIds()));
    expect("columns", matrix.columnIds().equals(expected.columnIds()));
  }

  private static EdgeLoader loader(ProcessGroup group, String file, LineParser parser) {
    TextPartition plan = TextPartition.plan(List.of(file), group.size(), LinePattern.FMAP);
    return EdgeLoader.over(plan).roundBytes(10_000).parser(parser).build();
  }

  /** Rank 1 ends without a word in the middle of its lines. */
  private static void dies(ProcessGroup group, String file) {
    LineParser commas = LineParser.separatedBy(",");
    int[] lines = new int[1];
    LineParser parser =
        (line, start, end, fields) -> {
          if (group.rank() == 1 && ++lines[0] == 5_000) {
            Runtime.getRuntime().halt(9);
          }
          commas.parse(line, start, end, fields);
        };
    lost(
        () ->
            Digraph.of(
                loader(group, file, parser).load(group.rank(), group::allToAll), Duplicates.LAST));
  }

  /** A line of rank 1 breaks a rule: it says which, and the others say who. */
  private static void malformed(ProcessGroup group, String file) {
    EdgeLoader loader = loader(group, file, LineParser.separatedBy(","));
    try {
      loader.load(group.rank(), group::allToAll);
    } catch (LineException e) {
      expect("own", group.rank() == 1 && e.error().text().equals("here,3"));
      return;
    } catch (ExchangeException e) {
      expect(e.toString(), group.rank() != 1 && e.rank() == 1);
      expect(e.toString(), String.valueOf(e.getMessage()).contains("here,3"));
      return;
    }
    throw new AssertionError("a wrong line went through");
  }

  private static void endless(ProcessGroup group) {
    lost(
        () -> {
          for (int round = 0; ; round++) {
            group.allToAll(new byte[group.size()][1 << 20]);
            if (round == 20) {
              System.out.println("steady");
            }
          }
        });
  }

  private static void lost(Runnable body) {
    try {
      body.run();
    } catch (PeerLostException e) {
      System.out.println(e.getMessage());
      expect("operation", e.operation().equals("all-to-all"));
      Runtime.getRuntime().halt(LOST);
    }
    throw new AssertionError("went through");
  }

  private static void expect(String what, boolean holds) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }
}
