// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.membership.MembershipEndedException.Reason;
import io.torchfeed.internal.SecretHandshake;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of who may join a job with a secret, and whom its ranks trust. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JobSecretTest extends MembershipFixture {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final JobSecret SECRET = JobSecret.of("the secret of the tests");

  private Coordinator coordinator() {
    return listen(ranks(1, 2).withSecret(SECRET));
  }

  private Membership join(int port, JobSecret secret) throws InterruptedException {
    Membership member =
        Membership.join("127.0.0.1", port, named("a").withSecret(secret).withTimeout(HOUR));
    opened.add(member);
    return member;
  }

  private Socket connect(Coordinator coordinator) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), coordinator.port());
    opened.add(socket);
    return socket;
  }

  @Test
  void thoseThatKnowTheSecretTrainTogether() throws Exception {
    Coordinator coordinator = coordinator();
    Future<World> a = next(join(coordinator.port(), SECRET), "");
    Future<World> b = next(join(coordinator.port(), SECRET), "");
    assertThat(a.get().size()).isEqualTo(2);
    assertThat(b.get().size()).isEqualTo(2);
  }

  @Test
  void oneWithAnotherSecretOrNoneIsRefused() throws Exception {
    Coordinator coordinator = coordinator();
    assertRefused(
        () -> join(coordinator.port(), JobSecret.random()),
        "the coordinator is not trusted: it has another secret");
    assertThat(events.take())
        .satisfies(event -> assertThat(event.kind()).isEqualTo(CoordinatorEvent.Kind.REFUSED))
        .extracting(CoordinatorEvent::text)
        .asString()
        .startsWith("a stranger: it does not know the secret of the job, at /127.0.0.1:");
    assertRefused(
        () -> join(coordinator, "without"),
        "this process lacks the secret of the job; see JobSecret.fromEnvironment");
    assertThat(events.take().kind()).isEqualTo(CoordinatorEvent.Kind.REFUSED);
  }

  @Test
  void oneWithASecretJoinsNoCoordinatorThatDoesNotKnowIt() throws Exception {
    assertRefused(
        () -> join(listen(ranks(1, 1)).port(), SECRET),
        "the coordinator has no secret, and this process has one");
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Future<byte[]> told =
          start(
              () -> {
                try (Socket socket = server.accept()) {
                  byte[] challenge = new byte[SecretHandshake.CHALLENGE_BYTES];
                  OutputStream out = socket.getOutputStream();
                  out.write(Message.greeting(challenge));
                  byte[] answer = socket.getInputStream().readNBytes(SecretHandshake.ANSWER_BYTES);
                  out.write(1); // accepted, but
                  out.write(answer, SecretHandshake.CHALLENGE_BYTES, 32); // its own proof
                  return socket.getInputStream().readAllBytes();
                }
              });
      assertRefused(
          () -> join(server.getLocalPort(), SECRET),
          "the coordinator is not trusted: it does not know the secret");
      assertThat(told.get()).isEmpty();
    }
  }

  private interface Joining {
    Membership run() throws Exception;
  }

  private static void assertRefused(Joining joining, String reason) {
    assertThatThrownBy(joining::run)
        .isInstanceOfSatisfying(
            MembershipEndedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.FAILED))
        .hasMessageMatching("no membership of the job at 127.0.0.1:\\d+: \\Q" + reason + "\\E");
  }

  @Test
  void aStrangerIsNotReadAndIsSentNothingButTheChallenge() throws Exception {
    Coordinator coordinator = coordinator();
    byte[][] strange = {
      "GET / HTTP/1.1\r\nHost: here\r\nAccept: text/html, and so on, and more\r\n\r\n"
          .getBytes(UTF_8),
      new Message.Hello("job", "a member that knows the name, but not the secret of it").encode(),
      new byte[1 << 16]
    };
    for (byte[] each : strange) {
      Socket stranger = connect(coordinator);
      OutputStream out = stranger.getOutputStream();
      out.write(each, 0, SecretHandshake.ANSWER_BYTES);
      byte[] answer = stranger.getInputStream().readAllBytes();
      assertThat(answer).hasSize(Message.GREETING_BYTES + SecretHandshake.CHALLENGE_BYTES + 1);
      assertThat(answer[answer.length - 1]).isZero();
    }
    assertThat(events).allMatch(event -> event.kind() == CoordinatorEvent.Kind.REFUSED);
    assertThat(join(coordinator.port(), SECRET)).isNotNull();
  }

  @Test
  void strangersThatSayNothingAreClosedAndKeepNobodyOut() throws Exception {
    Coordinator coordinator = coordinator();
    List<Socket> silent = new ArrayList<>();
    for (int i = 0; i < 600; i++) { // more than are open at a time
      silent.add(connect(coordinator));
    }
    Future<World> member = next(join(coordinator.port(), SECRET), "");
    for (Socket each : silent) {
      InputStream in = each.getInputStream();
      assertThat(in.readAllBytes())
          .hasSize(Message.GREETING_BYTES + SecretHandshake.CHALLENGE_BYTES);
    }
    assertThat(events.stream().map(CoordinatorEvent::text))
        .contains("a stranger: no proof of the secret within 1 s");
    join(coordinator.port(), SECRET).leave();
    next(join(coordinator.port(), SECRET), "").get();
    assertThat(member.get().size()).isEqualTo(2);
  }

  @Test
  void theProofOfOneConnectionIsNoneInAnother() throws Exception {
    Coordinator coordinator = coordinator();
    ByteArrayOutputStream recorded = new ByteArrayOutputStream();
    try (Socket first = connect(coordinator)) {
      DataInputStream in = new DataInputStream(first.getInputStream());
      in.skipNBytes(Message.GREETING_BYTES);
      OutputStream both =
          new OutputStream() {
            @Override
            public void write(int b) throws IOException {
              recorded.write(b);
              first.getOutputStream().write(b);
            }
          };
      assertThat(SecretHandshake.connect(SECRET.bytes(), in, both)).isNull();
    }
    Socket again = connect(coordinator);
    again.getOutputStream().write(recorded.toByteArray());
    byte[] answer = again.getInputStream().readAllBytes();
    assertThat(answer).hasSize(Message.GREETING_BYTES + SecretHandshake.CHALLENGE_BYTES + 1);
    assertThat(new String(recorded.toByteArray(), ISO_8859_1)).doesNotContain(SECRET.text());
  }

  @Test
  void aSecretIsReadFromAVariableOrAFileAndIsNotShown(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("secret");
    Files.writeString(file, SECRET.text() + "\n");
    assertThat(JobSecret.from(Map.of("TORCHFEED_JOB_SECRET_FILE", file.toString())))
        .map(JobSecret::text)
        .hasValue(SECRET.text());
    assertThat(
            JobSecret.from(
                Map.of(
                    "TORCHFEED_JOB_SECRET",
                    "the secret of a launcher",
                    "TORCHFEED_JOB_SECRET_FILE",
                    file.toString())))
        .map(JobSecret::text)
        .hasValue("the secret of a launcher");
    assertThat(JobSecret.from(Map.of())).isEmpty();
    assertThat(JobSecret.random().text()).matches("[0-9a-f]{64}");
    assertThat(SECRET).hasToString("JobSecret[hidden]");
    assertThat(ranks(1, 1).withSecret(SECRET).toString())
        .contains("a secret")
        .doesNotContain(SECRET.text());
    assertThat(ranks(1, 1).withSecret(SECRET).withStart(HOUR).secret())
        .isEqualTo(Optional.of(SECRET));
  }

  @Test
  void aSecretThatIsNoneIsRefusedWithoutBeingShown(@TempDir Path folder) throws Exception {
    assertThatThrownBy(() -> JobSecret.of("  too short   "))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "a secret must have at least 16 characters, got 9; make one by: openssl rand -hex 32");
    assertThatThrownBy(() -> JobSecret.from(Map.of("TORCHFEED_JOB_SECRET", "short")))
        .hasMessageStartingWith("environment variable TORCHFEED_JOB_SECRET must have at least 16");
    Path file = Files.writeString(folder.resolve("large"), "s".repeat(5000));
    assertThatThrownBy(() -> JobSecret.read(file))
        .hasMessage("the secret in %s must have at most 4096 bytes", file);
    Path missing = folder.resolve("missing");
    assertThatThrownBy(() -> JobSecret.read(missing))
        .hasMessage("the secret in %s cannot be read: no such file or directory", missing);
  }
}
