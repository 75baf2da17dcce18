// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.graph.Digraph;
import io.torchfeed.graph.EdgeLoader;
import io.torchfeed.graph.ExchangeException;
import io.torchfeed.graph.LineParser;
import io.torchfeed.graph.LinePattern;
import io.torchfeed.graph.LocalRanks;
import io.torchfeed.graph.SparseMatrix;
import io.torchfeed.text.LineException;
import io.torchfeed.text.TextPartition;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** The ranks of {@link ExchangeTest}; of the program, the first argument selects the part. */
public final class ExchangeRank {
  static final int LOST = 3;
  private static final int ROUNDS = 4;

  private ExchangeRank() {}

  public static void main(String[] args) {
    Duration timeout = Duration.ofMillis(Long.getLong("timeout", 60_000));
    try (ProcessGroup group = ProcessGroup.join(GroupOptions.ofTimeout(timeout))) {
      switch (args[0]) {
        case "dies" -> dies(group, args[1]);
        case "endless" -> endless(group);
        default -> throw new IllegalArgumentException(args[0]);
      }
    }
  }

  /** Returns a message longer than a piece, empty, or in between, computable by every rank. */
  private static byte[] message(int round, int from, int to) {
    Random random = new Random(1000L * round + 10L * from + to);
    int[] lengths = {
      0, 1, 12_345, AllToAllExchange.PIECE_BYTES, 2 * AllToAllExchange.PIECE_BYTES + 7
    };
    byte[] message = new byte[lengths[random.nextInt(lengths.length)]];
    random.nextBytes(message);
    return message;
  }

  static void messages(ProcessGroup group) {
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
    byte[][] incomplete = new byte[group.size()][group.rank() == 0 ? 0 : 1];
    if (group.rank() == 0) {
      incomplete[0] = null;
    }
    refused(group, incomplete);
    expect("good again", group.allToAll(new byte[group.size()][3])[0].length == 3);
  }

  private static void refused(ProcessGroup group, byte[][] messages) {
    try {
      group.allToAll(messages);
    } catch (IllegalArgumentException e) {
      return;
    }
    throw new AssertionError("did not throw for " + messages.length + " messages");
  }

  static void edges(ProcessGroup group, String file) {
    TextPartition plan =
        TextPartition.plan(List.of(file), group.size(), LinePattern.EDGES_BY_BLOCK.blocksPerRank());
    EdgeLoader loader =
        EdgeLoader.over(plan).pattern(LinePattern.EDGES_BY_BLOCK).roundBytes(10_000).build();
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
    TextPartition plan =
        TextPartition.plan(
            List.of(file), group.size(), LinePattern.EDGES_BY_SOURCE.blocksPerRank());
    return EdgeLoader.over(plan).roundBytes(10_000).parser(parser).build();
  }

  /** Rank 1 dies silently in the middle of its lines. */
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
                loader(group, file, parser).load(group.rank(), group::allToAll),
                EdgeLoader.DuplicatePolicy.LAST));
  }

  /** A line of rank 1 breaks a rule: rank 1 reports the rule, the others report rank 1. */
  static void malformed(ProcessGroup group, String file) {
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
    throw new AssertionError("a wrong line was accepted");
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
    throw new AssertionError("did not throw");
  }

  private static void expect(String what, boolean holds) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }
}
