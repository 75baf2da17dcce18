// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.trace.ring.DumpFormat;
import io.torchfeed.trace.ring.Event;
import io.torchfeed.trace.ring.Kind;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.Random;

/**
 * Dumps of a run that never was. Each step has a wait for data, forward, backward, update, a
 * reduction and an all-reduce; a rank is late in each tenth step.
 */
public final class SyntheticRun {
  static final long STEP = 5_000_000;
  static final long DELAY = 50_000_000;
  private static final int EVENTS = 7;
  private static final long FIRST = 3_600_000_000_000L;

  private final int ranks;
  private final int steps;
  private final int late;

  /** Each rank but rank 0 has a clock of its own, by this offset in nanoseconds. */
  long offset;

  /** The nanoseconds that the clock of a rank gains in a second. */
  long drift;

  /** The nanoseconds by which calls end later than the last arrival, on rank 0 and on others. */
  long lateEnd0;

  long lateEndOthers;

  /** The nanoseconds by which a step of rank 1 ends later than on other ranks. */
  long longer;

  /** True if rank 0 is in a call that no other rank has entered. */
  boolean isOpen;

  String key = "torchfeed/ab12/";

  SyntheticRun(int ranks, int steps, int late) {
    this.ranks = ranks;
    this.steps = steps;
    this.late = late;
  }

  /**
   * Writes the dumps of a folder.
   *
   * @param args the folder, the number of ranks and of steps, and {@code open} if rank 0 is in a
   *     call that no other rank has entered
   */
  public static void main(String[] args) throws IOException {
    Path folder = Files.createDirectories(Path.of(args[0]));
    int ranks = Integer.parseInt(args[1]);
    SyntheticRun run = new SyntheticRun(ranks, Integer.parseInt(args[2]), ranks / 2);
    run.isOpen = args.length > 3 && args[3].equals("open");
    run.write(folder);
  }

  void write(Path folder) throws IOException {
    for (int rank = 0; rank < ranks; rank++) {
      Path file = folder.resolve("trace-host%d-%d.tftrace".formatted(rank / 8, 100 + rank));
      try (FileChannel out =
          FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        DumpFormat.write(out, header(rank).getBytes(StandardCharsets.UTF_8), events(rank));
      }
    }
  }

  private String clock(int rank) {
    return offset == 0 && drift == 0 ? "one" : "of " + rank;
  }

  private String header(int rank) {
    String group = "{\"key\":\"%s\",\"rank\":%d,\"ranks\":%d,\"isPart\":%s}";
    return ("{\"version\":1,\"reason\":\"the process ends\",\"job\":\"\",\"host\":\"host%d\","
            + "\"pid\":%d,\"clock\":\"%s\",\"nanos\":%d,\"time\":\"2026-11-28T00:00:00Z\","
            + "\"forgotten\":0,\"names\":[\"backward\",\"all-reduce\"],\"groups\":[%s,%s],"
            + "\"threads\":[{\"name\":\"main\",\"site\":\"\",\"at\":\"\"}],\"open\":[%s],"
            + "\"failed\":[]}")
        .formatted(
            rank / 8,
            100 + rank,
            clock(rank),
            local(rank, time(steps)),
            String.format(Locale.ROOT, group, key, rank, ranks, false),
            String.format(Locale.ROOT, group, key + "reducer 0/", rank, ranks, true),
            isOpen && rank == 0 ? open() : "");
  }

  private String open() {
    return ("{\"group\":0,\"operation\":\"all-reduce\",\"kind\":\"collective\",\"number\":%d,"
            + "\"step\":%d,\"start\":%d,\"thread\":0,\"site\":\"Main.sum(Main.java:7)\","
            + "\"reason\":\"\"}")
        .formatted(steps, steps - 1, local(0, time(steps)));
  }

  /** Returns the time of a step; each tenth is later by the delay. */
  static long time(long step) {
    return FIRST + step * STEP + step / 10 * DELAY;
  }

  /** Returns a time by the clock of a rank. */
  long local(int rank, long time) {
    return time + rank * offset + Math.round(rank * drift * (time - FIRST) / 1e9);
  }

  private long[] events(int rank) {
    Random random = new Random(rank);
    long[] events = new long[steps * EVENTS * Event.FIELDS];
    int at = 0;
    for (int step = 0; step < steps; step++) {
      boolean isLate = step % 10 == 9;
      long start = time(step);
      long end = time(step + 1) - 100_000 + (rank == 1 ? longer : 0);
      long jitter = random.nextInt(100_000);
      long ready = start + 2_000_000 + jitter + (isLate && rank == late ? DELAY : 0);
      long all = start + 2_100_000 + (isLate ? DELAY : 0);
      long reduced = all + 50_000 + (rank == 0 ? lateEnd0 : lateEndOthers);
      long summed = all + 450_000 + (rank == 0 ? lateEnd0 : lateEndOthers);
      Object[][] rows = {
        {start, start + 100_000, Kind.BATCH_WAIT, Event.NONE, Event.NONE, (long) step, 3L},
        {start + 200_000, ready - 1_000_000, Kind.FORWARD, Event.NONE, Event.NONE, -1L, 0L},
        {ready - 900_000, reduced, Kind.REDUCTION, 1, 0, (long) step, reduced - ready},
        {ready - 1_000_000, all + 60_000, Kind.BACKWARD, Event.NONE, Event.NONE, -1L, 0L},
        {all + 100_000, all + 300_000, Kind.UPDATE, Event.NONE, Event.NONE, -1L, 0L},
        {all + 400_000 + jitter / 10, summed, Kind.COLLECTIVE, 0, 1, (long) step, 0L},
        {start, end, Kind.STEP, Event.NONE, Event.NONE, -1L, 0L}
      };
      for (Object[] row : rows) {
        Kind kind = (Kind) row[2];
        long flags = kind.isMatched() ? Event.MEETS : 0;
        events[at + Event.START] = local(rank, (long) row[0]);
        events[at + Event.END] = local(rank, (long) row[1]);
        events[at + Event.TAG] =
            (long) kind.code() << 56 | flags << 48 | (long) (int) row[3] << 32 | (int) row[4];
        events[at + Event.STEP] = step;
        events[at + Event.NUMBER] = (long) row[5];
        events[at + Event.BYTES] = 4096;
        events[at + Event.EXTRA] = (long) row[6];
        at += Event.FIELDS;
      }
    }
    return events;
  }
}
