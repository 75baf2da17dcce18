// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.internal.ReservedPort;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Ranks on the devices that the property {@code torchfeed.test.devices} lists, one for each rank,
 * such as {@code cuda:0,cuda:1}; without it, two ranks on the CPU. GPUs that are listed once each,
 * and nothing else, exchange gradients over NCCL, others over Gloo through host memory.
 */
@Tag("gpu")
@Timeout(value = 150, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DeviceRanksTest {
  static final String VICTIM = "victim";

  private static final int KILLED = 137;
  private static final List<String> DEVICES =
      List.of(System.getProperty("torchfeed.test.devices", "cpu,cpu").split(",", -1));

  private final Path folder;
  private final List<TestJvm> ranks = new ArrayList<>();

  DeviceRanksTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @BeforeEach
  void requireTheDevices() {
    long gpus = DEVICES.stream().filter(device -> device.startsWith("cuda:")).distinct().count();
    assumeTrue(gpus <= torchfeed.accelerator_count(), () -> DEVICES + " are not all there");
  }

  @AfterEach
  void endTheRanks() {
    ranks.forEach(TestJvm::close);
  }

  private static boolean hasNccl(List<String> devices) {
    return devices.stream().allMatch(device -> device.startsWith("cuda:"))
        && devices.stream().distinct().count() == devices.size();
  }

  private void start(
      List<String> devices, int rank, String part, Map<String, String> variables, String... more)
      throws IOException {
    List<String> program =
        new ArrayList<>(
            List.of(
                DeviceRank.class.getName(),
                part,
                devices.get(rank),
                String.valueOf(hasNccl(devices))));
    program.addAll(Arrays.asList(more));
    ranks.add(
        TestJvm.start(folder, variables, List.of("-Xmx128m"), program.toArray(String[]::new)));
  }

  /** Starts ranks that find each other by the variables of launchers. */
  private void startAll(String part, List<String> devices, ReservedPort port) throws IOException {
    for (int rank = 0; rank < devices.size(); rank++) {
      start(
          devices,
          rank,
          part,
          Map.of(
              "RANK", String.valueOf(rank),
              "WORLD_SIZE", String.valueOf(devices.size()),
              "MASTER_ADDR", "127.0.0.1",
              "MASTER_PORT", String.valueOf(port.number())));
    }
  }

  /** Trains, and returns the magnitude of the weights, the same on all ranks. */
  private double trained(List<String> devices) throws Exception {
    ranks.clear();
    try (ReservedPort port = ReservedPort.open()) {
      startAll("train", devices, port);
      List<String> last = new ArrayList<>();
      for (TestJvm rank : ranks) {
        assertThat(rank.exitCode()).as("%s", rank.output()).isZero();
        last.add(rank.output().get(rank.output().size() - 1));
      }
      assertThat(last).allMatch(line -> line.startsWith("weights "));
      return Double.parseDouble(last.get(0).substring("weights ".length()));
    }
  }

  @Test
  void ranksTrainAsThoseOfTheCpu() throws Exception {
    List<String> cpus = DEVICES.stream().map(device -> "cpu").toList();
    double expected = trained(cpus);
    if (!DEVICES.equals(cpus)) {
      assertThat(trained(DEVICES)).isCloseTo(expected, within(1e-3 * expected));
    }
    assertThat(expected).isPositive();
  }

  @Test
  void theOthersNoticeALostRank() throws Exception {
    try (ReservedPort port = ReservedPort.open()) {
      startAll("lose", DEVICES, port);
      for (TestJvm rank : ranks) {
        rank.await(lines -> lines.contains("epoch 1"));
      }
      TestJvm victim = ranks.remove(ranks.size() - 1);
      long struck = System.currentTimeMillis();
      victim.signal("KILL");
      assertThat(victim.exitCode()).isEqualTo(KILLED);
      for (TestJvm rank : ranks) {
        assertThat(rank.exitCode()).as("%s", rank.output()).isEqualTo(DeviceRank.NOTICED);
        assertThat(rank.output()).anyMatch(line -> line.startsWith("lost at "));
      }
      System.out.println("noticed after " + (System.currentTimeMillis() - struck) + " ms");
    }
  }

  @Test
  void elasticRanksGoOnWithoutALostOne() throws Exception {
    CoordinatorOptions options =
        CoordinatorOptions.of(1, DEVICES.size()).withStart(Duration.ofMinutes(2));
    try (Coordinator coordinator = Coordinator.listen("127.0.0.1", 0, options)) {
      List<String> names =
          IntStream.range(0, DEVICES.size())
              .mapToObj(i -> i == DEVICES.size() - 1 ? VICTIM : "rank " + i)
              .toList();
      String port = String.valueOf(coordinator.port());
      for (int i = 0; i < DEVICES.size(); i++) {
        start(DEVICES, i, "elastic", Map.of(), port, names.get(i));
      }
      TestJvm victim = ranks.remove(ranks.size() - 1);
      victim.await(lines -> lines.contains("halted"));
      victim.signal("KILL");
      assertThat(victim.exitCode()).isEqualTo(KILLED);
      List<String> ends = new ArrayList<>();
      for (TestJvm rank : ranks) {
        assertThat(rank.exitCode()).as("%s", rank.output()).isZero();
        ends.add(rank.output().get(rank.output().size() - 1));
      }
      coordinator.await();
      assertThat(ends).allMatch(end -> end.startsWith("COMPLETED "));
      assertThat(ends.stream().distinct()).hasSize(1);
    }
  }
}
