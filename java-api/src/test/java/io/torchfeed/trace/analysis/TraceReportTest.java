// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TraceReportTest {
  private static final int RANKS = 4;
  private static final int STEPS = 100;
  private static final int LATE = 2;

  private final Path folder;

  TraceReportTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static SyntheticRun run() {
    return new SyntheticRun(RANKS, STEPS, LATE);
  }

  private String printed() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    TraceReport.of(folder).print(new PrintStream(bytes, true, StandardCharsets.UTF_8));
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private Path first() {
    return folder.resolve("trace-host0-100.tftrace");
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0, all ranks have one clock",
    "7000000000, 0, clocks are aligned within",
    "-90000000000, 40000, clocks are aligned within"
  })
  void theLateRankIsFoundWithAnyClocks(long offset, long drift, String clocks) throws Exception {
    SyntheticRun run = run();
    run.offset = offset;
    run.drift = drift;
    run.write(folder);
    String report = printed();
    assertThat(report).contains(clocks);
    String worst =
        report.lines().dropWhile(line -> !line.contains("share")).skip(1).findFirst().orElseThrow();
    assertThat(worst)
        .as(report)
        .matches(" +2  .* 1\\.5\\d\\d +9\\d\\.\\d % .* of 100 +0\\.05\\d s before backward in .*9");
  }

  @Test
  void clocksAreAlignedWithinTheStatedUncertainty() throws Exception {
    SyntheticRun run = run();
    run.offset = 123_456_789;
    run.write(folder);
    Dumps dumps = Dumps.open(folder);
    Clocks clocks = new Clocks(dumps);
    assertThat(clocks.uncertainty()).isBetween(1L, 100_000L);
    assertThat(clocks.unknown()).isEmpty();
    for (int rank = 0; rank < RANKS; rank++) {
      long local = dumps.all().get(rank).nanos();
      long error = Math.abs(clocks.time(rank, local) - dumps.all().get(0).nanos());
      assertThat(error).isLessThanOrEqualTo(clocks.uncertainty());
    }
  }

  /** The calls of one side end late, so that the true offset is far from one of the bounds. */
  @ParameterizedTest
  @CsvSource({"1000000, 0", "0, 1000000"})
  void theMiddleOfTheBoundsIsTheOffset(long lateEnd0, long lateEndOthers) throws Exception {
    SyntheticRun run = run();
    run.offset = 123_456_789;
    run.lateEnd0 = lateEnd0;
    run.lateEndOthers = lateEndOthers;
    run.write(folder);
    Dumps dumps = Dumps.open(folder);
    Clocks clocks = new Clocks(dumps);
    assertThat(clocks.uncertainty()).isBetween(500_000L, 600_000L);
    for (int rank = 1; rank < RANKS; rank++) {
      long nanos = dumps.all().get(rank).nanos();
      assertThat(Math.abs(clocks.time(rank, nanos) - dumps.all().get(0).nanos()))
          .isLessThanOrEqualTo(clocks.uncertainty());
    }
  }

  @Test
  void aClockThatDriftsIsFollowedAtAllTimes() throws Exception {
    int steps = 4000; // of 40 s
    SyntheticRun run = new SyntheticRun(2, steps, 1);
    run.drift = 40_000;
    run.write(folder);
    Clocks clocks = new Clocks(Dumps.open(folder));
    for (int step = 0; step <= steps; step += 10) {
      long time = SyntheticRun.time(step);
      assertThat(Math.abs(clocks.time(1, run.local(1, time)) - time))
          .as("after %s steps", step)
          .isLessThan(60_000);
    }
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "7000000000, 30000"})
  void theSlowestStepsShowWhoWaited(long offset, long error) throws Exception {
    SyntheticRun run = run();
    run.offset = offset;
    run.longer = 40_000;
    run.write(folder);
    List<StepTimeline> slowest = TraceReport.of(folder).slowestSteps(3);
    assertThat(slowest).extracting(StepTimeline::step).containsExactly(9L, 19L, 29L);
    for (StepTimeline step : slowest) {
      assertThat(step.nanos()).isEqualTo(SyntheticRun.DELAY + SyntheticRun.STEP - 60_000);
      assertThat(step.rows()).extracting(StepTimeline.Row::rank).containsExactly(0, 1, 2, 3);
      for (StepTimeline.Row row : step.rows()) {
        long forRanks = row.nanos(StepTimeline.Work.RANKS);
        if (row.rank() == LATE) {
          assertThat(forRanks).isBetween(0L, 10_000 + 2 * error); // in the all-reduce
        } else {
          assertThat(forRanks - SyntheticRun.DELAY).isBetween(-150_000L, 150_000L);
        }
        assertThat(row.nanos(StepTimeline.Work.DATA)).isBetween(100_000 - error, 100_000L);
        assertThat(row.nanos(StepTimeline.Work.UPDATE)).isBetween(200_000 - error, 200_000L);
        long end = 0;
        for (StepTimeline.Span span : row.spans()) {
          assertThat(span.start()).isGreaterThanOrEqualTo(end).isLessThan(span.end());
          end = span.end();
        }
        assertThat(end).isLessThanOrEqualTo(step.nanos());
      }
      long forward = step.rows().get(LATE).nanos(StepTimeline.Work.FORWARD);
      assertThat(forward).isGreaterThan(SyntheticRun.DELAY);
    }
  }

  @Test
  void waitsOfARowCoverItsWork() {
    StepTimeline.Row row =
        StepTimeline.Row.of(
            1,
            "host/7",
            List.of(
                new StepTimeline.Span(StepTimeline.Work.FORWARD, 0, 100),
                new StepTimeline.Span(StepTimeline.Work.BACKWARD, 100, 300)),
            List.of(
                new StepTimeline.Span(StepTimeline.Work.RANKS, 180, 250),
                new StepTimeline.Span(StepTimeline.Work.RANKS, 150, 200),
                new StepTimeline.Span(StepTimeline.Work.RANKS, 40, 50)));
    assertThat(row.spans())
        .containsExactly(
            new StepTimeline.Span(StepTimeline.Work.FORWARD, 0, 40),
            new StepTimeline.Span(StepTimeline.Work.RANKS, 40, 50),
            new StepTimeline.Span(StepTimeline.Work.FORWARD, 50, 100),
            new StepTimeline.Span(StepTimeline.Work.BACKWARD, 100, 150),
            new StepTimeline.Span(StepTimeline.Work.RANKS, 150, 250),
            new StepTimeline.Span(StepTimeline.Work.BACKWARD, 250, 300));
  }

  /** Without the dump of rank 3, no call is known to have ended on all ranks. */
  @Test
  void clocksThatNoCallConnectsAreNamed() throws Exception {
    SyntheticRun run = run();
    run.offset = 7_000_000_000L;
    run.write(folder);
    Files.delete(folder.resolve("trace-host0-103.tftrace"));
    assertThat(printed())
        .contains("the clock of rank 1 (host0/101) is not aligned: no call connects it")
        .contains("the clock of rank 2 (host0/102) is not aligned: no call connects it")
        .contains("no call of all ranks was completed on all of them");
    assertThat(TraceReport.of(folder).summary())
        .startsWith("Processes: 3, hosts: 1; all ranks have one clock, but for 2 processes; ");
  }

  @Test
  void slicesOfATimelineBeginAndEnd() throws Exception {
    run().write(folder);
    Path file = folder.resolve("timeline");
    TraceReport.of(folder).writePerfetto(file);
    Map<Long, Integer> open = new HashMap<>();
    Map<Long, Integer> flows = new HashMap<>();
    int slices = 0;
    for (ProtoFields packet : ProtoFields.of(Files.readAllBytes(file)).messages(1)) {
      for (ProtoFields event : packet.messages(11)) {
        assertThat(packet.number(8)).isPositive();
        int change = event.number(9) == 1 ? 1 : event.number(9) == 2 ? -1 : 0;
        assertThat(open.merge(event.number(11), change, Integer::sum)).isNotNegative();
        slices += Math.max(0, change);
        event.fixed(47).forEach(flow -> flows.merge(flow, 1, Integer::sum));
      }
    }
    assertThat(slices).isEqualTo(RANKS * STEPS * 7);
    assertThat(open.values()).allMatch(count -> count == 0);
    assertThat(flows).hasSize(2 * STEPS);
    assertThat(flows.values()).allMatch(count -> count == RANKS);
  }

  @Test
  void aDumpThatIsCutOffOrDamagedIsNamed() throws Exception {
    run().write(folder);
    byte[] whole = Files.readAllBytes(first());
    Random random = new Random(5);
    for (int round = 0; round < 200; round++) {
      byte[] other = Arrays.copyOf(whole, random.nextInt(whole.length));
      if (round % 2 == 1) {
        other = whole.clone();
        int at = random.nextInt(whole.length);
        other[at] = (byte) (other[at] ^ (1 << random.nextInt(8)));
      }
      refused(other, first().toString());
    }
    refused(new byte[0], "is no dump of a trace; remove it from the folder");
    refused("a text".getBytes(StandardCharsets.UTF_8), "is no dump of a trace");
    refused(Arrays.copyOf(whole, whole.length - 1), "is cut off");
    refused(Arrays.copyOf(whole, whole.length + 8), "is cut off or has more");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"version\":1 | \"version\":7 | the version of a dump must be 1, got 7",
        "\"names\":[ | \"named\":[ | lacks the field names",
        "\"rank\":0 | \"rank\":9 | that it does not list",
        "\"threads\":[{ | \"threads\":[], \"more\":[{ | that it does not list",
        "[\"backward\",\"all-reduce\"] | [] | that it does not list"
      })
  void aHeaderOfAnotherProgramIsRefused(String from, String to, String fault) throws Exception {
    run().write(folder);
    byte[] whole = Files.readAllBytes(first());
    ByteBuffer in = ByteBuffer.wrap(whole).order(ByteOrder.LITTLE_ENDIAN);
    int length = in.getInt(8);
    String header = new String(whole, 12, length, StandardCharsets.UTF_8);
    assertThat(header).contains(from);
    byte[] changed = header.replace(from, to).getBytes(StandardCharsets.UTF_8);
    ByteBuffer out =
        ByteBuffer.allocate(whole.length - length + changed.length)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put(whole, 0, 8)
            .putInt(changed.length)
            .put(changed)
            .put(whole, 12 + length, whole.length - 12 - length - 8);
    CRC32C sum = new CRC32C();
    sum.update(out.array(), 0, out.position());
    refused(out.putLong(sum.getValue()).array(), fault);
  }

  private void refused(byte[] content, String message) throws IOException {
    Files.write(first(), content);
    assertThatThrownBy(() -> TraceReport.of(folder))
        .isInstanceOf(DumpException.class)
        .hasMessageContaining(first().toString())
        .hasMessageContaining(message);
  }

  @Test
  void dumpsOfTwoRunsAreRefused() throws Exception {
    run().write(folder);
    Path copy = Files.copy(first(), folder.resolve("copy.tftrace"));
    assertThatThrownBy(() -> TraceReport.of(folder))
        .isInstanceOf(DumpException.class)
        .hasMessageContaining("is of rank 0, as ")
        .hasMessageContaining("remove the copy");
    Files.delete(copy);
    SyntheticRun other = new SyntheticRun(1, STEPS, 0);
    other.key = "torchfeed/cd34/";
    other.write(Files.createDirectory(folder.resolve("other")));
    Files.copy(folder.resolve("other/trace-host0-100.tftrace"), copy);
    assertThatThrownBy(() -> TraceReport.of(folder))
        .isInstanceOf(DumpException.class)
        .hasMessageContaining("is of another run than")
        .hasMessageContaining("use a folder for each run");
  }
}
