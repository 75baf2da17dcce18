// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Hash64;
import io.torchfeed.text.ByteRange;
import io.torchfeed.text.LineCursor;
import io.torchfeed.text.TextPartition;
import java.util.Arrays;
import java.util.function.LongConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One rank's part of loading: reads until a message is full, exchanges messages, and repeats until
 * no rank has lines left. A rank that fails announces it in its next messages, so that no other
 * rank waits for it.
 */
final class EdgeExchange {
  private static final byte DONE = 0;
  private static final byte MORE = 1;
  private static final byte FAILED = 2;
  private static final long LINES_PER_REPORT = 1 << 16;

  /** The position of the number of entries in a message, after its state, digest and rank. */
  private static final int ENTRIES_AT = 1 + 2 * Long.BYTES;

  private final TextPartition plan;
  private EdgeRules rules;
  private final int rank;
  private final AllToAll exchange;
  private final boolean bothEnds;
  private final ProcessGrid grid;
  private final long digest;
  private final long bytes;
  private final int fullMessage;
  private final ReceivedEdges inbox;
  private EdgeParser parser;
  private @Nullable FastEdgeParser plain;
  private final ErrorLog errors;

  /** The messages, by destination rank. */
  private final WireWriter[] messages;

  private final LongConsumer progress;
  private boolean isFull;
  private long linesRead;

  private boolean hasReadHead;

  /** The head of the file; null if it has none. */
  private @Nullable MatrixMarket matrix;

  /** The offset up to which lines are the head of the file; -1 behind it. */
  private long headEnd = -1;

  /** The number of entries read by each rank so far. */
  private final long[] entries;

  EdgeExchange(
      TextPartition plan,
      EdgeRules rules,
      int rank,
      AllToAll exchange,
      boolean bothEnds,
      LongConsumer progress) {
    bytes = plan.ranges(rank).stream().mapToLong(ByteRange::length).sum();
    this.plan = plan;
    this.rules = rules;
    this.rank = rank;
    this.exchange = exchange;
    this.bothEnds = bothEnds;
    this.progress = progress;
    int worldSize = plan.worldSize();
    grid = ProcessGrid.of(rules.pattern(), worldSize);
    digest = Hash64.fold(Hash64.fold(plan.digest(), rules.digest()), bothEnds ? 1 : 0);
    fullMessage = rules.roundBytes() / worldSize;
    inbox = new ReceivedEdges(rules.ids(), worldSize);
    parser = new EdgeParser(rules);
    plain = FastEdgeParser.of(rules);
    errors = new ErrorLog(rules.errors());
    messages = new WireWriter[worldSize];
    Arrays.setAll(messages, i -> new WireWriter());
    entries = new long[worldSize];
  }

  Edges run() {
    try (LineCursor lines = plan.open(rank, rules.lines())) {
      boolean anyMore;
      do {
        begin(MORE);
        byte state = read(lines) ? MORE : DONE;
        anyMore = exchangeRound(state) || state == MORE;
      } while (anyMore);
    }
    if (matrix != null) {
      matrix.requireEntries(Arrays.stream(entries).sum());
    }
    return new Edges(inbox, linesRead, errors.errors(), rules, grid, rank, bothEnds);
  }

  private void begin(byte state) {
    for (WireWriter message : messages) {
      message.take();
      message.putByte(state);
      message.putLong(digest);
      message.putLong(rank);
      message.putLong(0);
    }
  }

  /** Reads lines until a message is full; returns whether there may be more lines. */
  private boolean read(LineCursor lines) {
    try {
      isFull = false;
      if (!hasReadHead) {
        readHead();
      }
      while (!isFull) {
        if (linesRead % LINES_PER_REPORT == 0) {
          progress.accept(bytes - lines.state().bytes());
        }
        if (!lines.next()) {
          progress.accept(bytes);
          return false;
        }
        linesRead++;
        if (!isHead(lines)) {
          readLine(lines);
        }
      }
      return true;
    } catch (RuntimeException | Error e) {
      announce(e);
      throw e;
    }
  }

  private void readHead() {
    hasReadHead = true;
    matrix = MatrixMarket.of(plan, rules, bothEnds);
    if (matrix != null) {
      headEnd = matrix.sizesOffset();
      rules = matrix.rules(rules);
      parser = new EdgeParser(rules);
      plain = FastEdgeParser.of(rules);
    }
  }

  /** Returns whether the line is a part of the head; none is behind the first that is not. */
  private boolean isHead(LineCursor line) {
    boolean isHead = headEnd >= 0 && line.offset() <= headEnd;
    headEnd = isHead ? headEnd : -1;
    return isHead;
  }

  private void readLine(LineCursor line) {
    byte[] bytes = line.bytes();
    int start = line.start();
    int end = line.end();
    if (plain != null && plain.parse(bytes, start, end)) {
      deliverNumbers(line, plain.first(), plain.second(), plain.weight());
      return;
    }
    int count;
    try {
      count = parser.parse(bytes, start, end);
    } catch (LineParser.MalformedLineException e) {
      entries[rank]++;
      errors.add(line, e);
      return;
    }
    if (count == 0 && matrix == null && MatrixMarket.begins(line)) {
      throw MatrixMarket.severalFiles(line);
    }
    for (int edge = 0; edge < count; edge++) {
      long first = parser.firstHash();
      long second = parser.secondHash(edge);
      if (rules.ids() == IdMap.Kind.NUMBER) {
        deliverNumbers(line, first, second, parser.weight(edge));
      } else {
        deliver(bytes, edge, grid.owner(first, second), otherOwner(first, second));
      }
    }
  }

  /**
   * Returns the owner of the reversed edge if that rank receives it too, otherwise the owner of the
   * edge.
   */
  private int otherOwner(long first, long second) {
    return bothEnds ? grid.owner(second, first) : grid.owner(first, second);
  }

  /** Delivers the edge, or the edges, of one line whose ids are numbers. */
  private void deliverNumbers(LineCursor line, long first, long second, double weight) {
    MatrixMarket head = matrix;
    if (head == null) {
      deliver(first, second, weight);
      return;
    }
    entries[rank]++;
    String problem = head.problemOf(first, second);
    if (problem != null) {
      errors.add(line, new LineParser.MalformedLineException(problem));
      return;
    }
    deliver(first, second, weight);
    if (head.isMirrored() && first != second) {
      deliver(second, first, head.mirrored(weight));
    }
  }

  /** Delivers an edge whose ids are numbers, which are their own hashes. */
  private void deliver(long first, long second, double weight) {
    int owner = grid.owner(first, second);
    deliver(first, second, weight, owner);
    if (bothEnds) {
      int other = otherOwner(first, second);
      if (other != owner) {
        deliver(first, second, weight, other);
      }
    }
  }

  private void deliver(long first, long second, double weight, int owner) {
    if (owner == rank) {
      inbox.add(rank, first, second, weight);
    } else {
      WireWriter message = messages[owner];
      message.putEdge(first, second, weight);
      isFull |= message.length() >= fullMessage;
    }
  }

  /** Delivers an edge whose ids are texts, as held by the parser. */
  private void deliver(byte[] line, int edge, int owner, int other) {
    deliver(line, edge, owner);
    if (other != owner) {
      deliver(line, edge, other);
    }
  }

  private void deliver(byte[] line, int edge, int owner) {
    if (owner == rank) {
      inbox.add(rank, line, parser, edge);
      return;
    }
    WireWriter message = messages[owner];
    message.putBytes(line, parser.firstStart(), parser.firstEnd());
    message.putBytes(line, parser.secondStart(edge), parser.secondEnd(edge));
    message.putDouble(parser.weight(edge));
    isFull |= message.length() >= fullMessage;
  }

  /** Exchanges one message with each rank; returns whether another rank has more lines. */
  private boolean exchangeRound(byte state) {
    byte[][] sent = new byte[messages.length][];
    for (int to = 0; to < sent.length; to++) {
      sent[to] = messages[to].take();
      sent[to][0] = state;
      WireWriter.LONG.set(sent[to], ENTRIES_AT, entries[rank]);
    }
    byte[][] taken = ExchangeException.requireWhole(exchange.exchange(sent), messages.length);
    boolean othersHaveMore = false;
    for (int from = 0; from < taken.length; from++) {
      othersHaveMore |= taken[from][0] == MORE;
    }
    try {
      IntStream.range(0, taken.length).forEach(from -> take(from, taken[from]));
    } catch (ExchangeException e) {
      throw e; // The others have the same messages, or fail because this rank is missing.
    } catch (RuntimeException | Error e) {
      if (othersHaveMore || state == MORE) {
        announce(e);
      }
      throw e;
    }
    return othersHaveMore;
  }

  private void take(int from, byte[] message) {
    WireReader in = new WireReader(from, message);
    byte state = in.getByte();
    if (state == FAILED) {
      int length = in.getLength();
      throw new ExchangeException(
          from,
          "rank %d failed: %s".formatted(from, Numbers.text(message, in.skip(length), length)));
    }
    if (in.getLong() != digest) {
      throw new ExchangeException(
          from,
          "all ranks must have the same files, plan and rules, but rank %d has others than"
                  .formatted(from)
              + " rank "
              + rank);
    }
    requireOwnNumber(from, in.getLong());
    entries[from] = in.getLong();
    inbox.addAll(from, in);
  }

  /**
   * Rejects a rank that loads under another number: one part would be read twice, another not at
   * all.
   */
  private static void requireOwnNumber(int from, long number) {
    if (number != from) {
      throw new ExchangeException(
          from,
          ("each rank must load under its own number, but rank %d loads as rank %d; pass load the"
                  + " rank of the exchange")
              .formatted(from, number));
    }
  }

  /** Announces a failure to the other ranks, in place of the next round. */
  private void announce(Throwable failure) {
    if (messages.length == 1) {
      return;
    }
    byte[] text = Numbers.bytes(Failures.describe(failure));
    byte[][] sent = new byte[messages.length][];
    for (int to = 0; to < sent.length; to++) {
      WireWriter message = new WireWriter();
      message.putByte(FAILED);
      message.putBytes(text, 0, text.length);
      sent[to] = message.take();
    }
    try {
      exchange.exchange(sent);
    } catch (RuntimeException e) {
      failure.addSuppressed(e);
    }
  }
}
