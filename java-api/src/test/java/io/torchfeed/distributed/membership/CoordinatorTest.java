// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.internal.Refusals;
import io.torchfeed.testing.TestJvm;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of refused connections, and of many ranks. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CoordinatorTest extends MembershipFixture {
  @Test
  void aRankWithoutSignsOfLifeIsExpelled() throws Exception {
    Coordinator coordinator =
        listen(CoordinatorOptions.of(1, 1).withSilence(Duration.ofSeconds(2)));
    try (Socket silent = new Socket(InetAddress.getLoopbackAddress(), coordinator.port())) {
      silent.getOutputStream().write(new Message.Hello("job", "silent").encode());
      awaitEvent(CoordinatorEvent.Kind.LOST);
      assertThat(new String(silent.getInputStream().readAllBytes(), ISO_8859_1))
          .contains("no sign of life for 2000 ms");
    }
    assertThat(next(join(coordinator, "a"), "").get().generation()).isEqualTo(1);
  }

  @Test
  void whatComesWhileTheCoordinatorStandsStillIsASignOfLife() throws Exception {
    Duration silence = Duration.ofSeconds(1);
    Socket member = new Socket();
    Socket stranger = new Socket();
    opened.add(member);
    opened.add(stranger);
    Coordinator coordinator =
        Coordinator.listen(
            "127.0.0.1",
            0,
            CoordinatorOptions.of(1, 1)
                .withJob("job")
                .withSilence(silence)
                .withEvents(
                    event -> {
                      events.add(event);
                      if (event.kind() == CoordinatorEvent.Kind.CONNECTED) {
                        write(stranger, new Message.Hello("another", "stranger"));
                      } else if (event.kind() == CoordinatorEvent.Kind.REFUSED) {
                        long until = System.nanoTime() + silence.toNanos() * 3 / 2;
                        while (System.nanoTime() < until) {
                          LockSupport.parkNanos(until - System.nanoTime());
                        }
                        write(member, new Message.Left(""));
                      }
                    }));
    opened.add(coordinator);
    member.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), coordinator.port()));
    stranger.connect(member.getRemoteSocketAddress());
    write(member, new Message.Hello("job", "m"));
    awaitEvent(CoordinatorEvent.Kind.REFUSED);
    assertThat(events.take().text()).isEqualTo("m has left");
  }

  @Test
  void connectionsForWhichThereAreNoFilesWaitAndAreReportedOnce(@TempDir Path folder)
      throws Exception {
    Path free = folder.resolve("free");
    List<String> command =
        List.of(
            "sh",
            "-c",
            "ulimit -n 256; exec \"$@\"",
            "sh",
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            FewFilesProgram.class.getName(),
            free.toString());
    try (TestJvm jvm = TestJvm.launch(folder, Map.of(), command)) {
      List<String> lines = jvm.await(all -> all.stream().anyMatch(each -> each.startsWith("full")));
      int port = Integer.parseInt(lines.get(lines.size() - 1).substring("full ".length()));
      Future<Membership> late =
          threads.submit(() -> Membership.join("127.0.0.1", port, named("late")));
      jvm.await(all -> all.stream().anyMatch(each -> each.contains("Too many open files")));
      Files.createFile(free);
      opened.add(late.get());
      assertThat(jvm.output()).filteredOn(each -> each.contains("cannot be accepted")).hasSize(1);
    }
  }

  private static void write(Socket socket, Message message) {
    try {
      socket.getOutputStream().write(message.encode());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void membersOfOtherJobsAndStrangersAreRefused() throws Exception {
    Coordinator coordinator = listen(ranks(1, 1));
    assertThatThrownBy(
            () ->
                Membership.join(
                    "127.0.0.1", coordinator.port(), named("member of another").withJob("another")))
        .isInstanceOf(MembershipEndedException.class)
        .hasMessage("this is the coordinator of job job, not of another");
    byte[][] strange = {
      "GET / HTTP/1.1\r\n\r\n".getBytes(UTF_8),
      {0, 0, 0, 0},
      {-1, -1, -1, -1},
      {0, 0, 0, 1, 99},
      {0, 0, 0, 2, 6, 6},
      {0, 0, 0, 1, 6},
      new Message.Ready(5, "").encode()
    };
    for (byte[] each : strange) {
      try (Socket stranger = new Socket(InetAddress.getLoopbackAddress(), coordinator.port());
          InputStream answer = stranger.getInputStream()) {
        new DataOutputStream(stranger.getOutputStream()).write(each);
        assertThat(answer.readAllBytes()).isEqualTo(Message.greeting(new byte[0]));
      }
    }
    assertThat(next(join(coordinator, "a"), "").get().size()).isEqualTo(1);
  }

  @Test
  void ofManyRefusedConnectionsTheFirstAreNoted() throws Exception {
    Coordinator coordinator = listen(ranks(1, 1));
    for (int i = 0; i < 100; i++) {
      try (Socket other = new Socket(InetAddress.getLoopbackAddress(), coordinator.port());
          InputStream answer = other.getInputStream()) {
        write(other, new Message.Hello("another job", "stranger"));
        answer.readAllBytes(); // until it is refused
      }
    }
    assertThat(events).hasSizeBetween(1, 3 * (Refusals.MOST + 1)); // by the seconds that it took
    assertThat(next(join(coordinator, "a"), "").get().size()).isEqualTo(1);
  }

  @Test
  void namesOfStrangersAreOneLineOfPrintableCharacters() throws Exception {
    Coordinator coordinator = listen(ranks(1, 1));
    String name = "a\ngeneration 9: \u001b[2J\u009b\u202e\u2028\r \u00e4\ud83d\ude00";
    String printable =
        "a\\ngeneration 9: \\u001b[2J\\u009b\\u202e\\u2028\\u000d \u00e4\ud83d\ude00";
    try (Socket other = new Socket(InetAddress.getLoopbackAddress(), coordinator.port())) {
      write(other, new Message.Hello("x\ny", name));
      assertThat(events.take().text()).isEqualTo(printable + " belongs to job x\\ny");
    }
    Membership member = join(coordinator, name);
    assertThat(events.take().processes()).containsExactly(printable);
    next(member, "").get();
    assertThat(events.take().text()).doesNotContain("\n", "\u001b");
    member.fail("a message\nof two lines");
    assertThat(events.take().text()).endsWith(" was lost: a message\\nof two lines");
  }

  @Test
  void aLossIsNotedOnce() throws Exception {
    Coordinator coordinator = listen(ranks(1, 2));
    List<Membership> members = together(coordinator, "a", "b");
    members.get(1).fail("its reason");
    awaitEvent(CoordinatorEvent.Kind.LOST);
    CoordinatorEvent broken = events.take();
    assertThat(broken.kind()).isEqualTo(CoordinatorEvent.Kind.BROKEN);
    assertThat(broken.text()).isEqualTo("the ranks return to the end of the last completed step");
    assertThat(members.get(0).next("lost").orElseThrow().size()).isEqualTo(1);
  }

  @Test
  void aRankIsKeptThoughItsStepsAreLong() throws Exception {
    Coordinator coordinator =
        listen(CoordinatorOptions.of(1, 1).withSilence(Duration.ofSeconds(2)));
    Membership slow = together(coordinator, "slow").get(0);
    assertThat(events.poll(5, TimeUnit.SECONDS)).extracting(CoordinatorEvent::kind).isNotNull();
    Thread.sleep(5_000); // a step
    assertThat(slow.commit(1)).isFalse();
    assertThat(events).noneMatch(event -> event.kind() == CoordinatorEvent.Kind.LOST);
  }

  @Test
  void aThousandRanksLoseAHundredAtOnce() throws Exception {
    int ranks = 1000;
    Coordinator coordinator = listen(ranks(1, ranks));
    List<Membership> members =
        together(
            coordinator, IntStream.range(0, ranks).mapToObj(i -> "m" + i).toArray(String[]::new));
    for (int i = 0; i < 100; i++) {
      members.get(i * 10).close();
    }
    List<Future<World>> after = new ArrayList<>();
    for (int i = 0; i < ranks; i++) {
      if (i % 10 != 0) {
        after.add(next(members.get(i), "lost"));
      }
    }
    for (Future<World> each : after) {
      assertThat(each.get().size()).isEqualTo(900);
    }
  }

  @Test
  void optionsRefuseWhatMakesNoSense() {
    assertThatThrownBy(() -> CoordinatorOptions.of(0, 1)).hasMessageContaining("got 0 and 1");
    assertThatThrownBy(() -> CoordinatorOptions.of(3, 2)).hasMessageContaining("got 3 and 2");
    assertThatThrownBy(() -> ranks(1, 1).withSilence(Duration.ofMillis(1)))
        .hasMessageContaining("silence must be in [20 ms, 1 day], got PT0.001S");
    assertThat(ranks(1, 2)).asString().contains("ranks=1:2");
  }
}
