// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.rendezvous.Rendezvous;
import io.torchfeed.distributed.rendezvous.StoreConnection;
import io.torchfeed.internal.ReservedPort;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.TestPython;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.assertj.core.util.Throwables;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of Java's ranks that find the store of another program at their master's address. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OtherStoreTest {
  private static final Duration LIMIT = Duration.ofMinutes(10);

  // The client of libtorch 2.10 sends a magic number and then a number to be sent back.
  private static final int GREETING_BYTES = 10;
  private static final int NONCE_BYTES = 4;

  private static final String SCRIPT =
      """
      import torch.distributed as dist
      print("joins", flush=True)
      dist.init_process_group("gloo")
      print("joined", dist.get_world_size(), flush=True)
      dist.barrier()
      """;

  private final Path folder;

  OtherStoreTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static ProcessGroup joinAsRank1(ReservedPort port) {
    return ProcessGroup.join(
        Master.at("127.0.0.1", port.number()), new Part(2, 1), GroupOptions.ofTimeout(LIMIT));
  }

  private static void assertRefused(ReservedPort port, String key) {
    assertThatIllegalStateException()
        .isThrownBy(() -> joinAsRank1(port))
        .withMessageContaining(
            "the port 127.0.0.1:" + port.number() + " is used by the store of another program")
        .withMessageContaining(key)
        .withMessageContaining("each job needs a port of its own");
  }

  @ParameterizedTest
  @ValueSource(strings = {"init/", "default_pg/0//cpu//0/rank_0"})
  void aStoreWithOtherKeysIsRefused(String key) throws Exception {
    try (ReservedPort port = ReservedPort.open()) {
      StoreConnection store =
          StoreConnection.serve("127.0.0.1", port.number(), OptionalInt.empty(), 0, LIMIT);
      store.add(key, 1);
      assertRefused(port, key);
      store.release();
    }
  }

  @Test
  void aStoreThatGetsOtherKeysLaterIsRefusedThen() throws Exception {
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (ReservedPort port = ReservedPort.open()) {
      StoreConnection store =
          StoreConnection.serve("127.0.0.1", port.number(), OptionalInt.empty(), 0, LIMIT);
      Future<?> refused = thread.submit(() -> assertRefused(port, "epoch"));
      awaitPause(refused);
      store.add("epoch", 1);
      refused.get();
      store.release();
    } finally {
      thread.shutdownNow();
    }
  }

  /** Waits until a rank has looked at the store and pauses before it looks again. */
  private static void awaitPause(Future<?> rank) throws InterruptedException {
    while (Thread.getAllStackTraces().entrySet().stream()
        .noneMatch(each -> isPaused(each.getKey(), each.getValue()))) {
      assertThat(rank.isDone()).as("the rank waits").isFalse();
      Thread.sleep(1);
    }
  }

  private static boolean isPaused(Thread thread, StackTraceElement[] stack) {
    Predicate<String> calls =
        method ->
            Stream.of(stack)
                .anyMatch(
                    frame ->
                        frame.getClassName().equals(Rendezvous.class.getName())
                            && frame.getMethodName().equals(method));
    return thread.getName().equals("torchfeed-rendezvous")
        && calls.test("follow")
        && calls.test("sleep");
  }

  /** Answers the greeting of a store's client, and then all that it sends with nonsense. */
  private static void answerNonsense(ServerSocket server) {
    try (Socket socket = server.accept()) {
      InputStream in = socket.getInputStream();
      OutputStream out = socket.getOutputStream();
      byte[] greeting = in.readNBytes(GREETING_BYTES);
      if (greeting.length == GREETING_BYTES) {
        out.write(greeting, GREETING_BYTES - NONCE_BYTES, NONCE_BYTES);
      }
      while (in.read() >= 0) {
        out.write(0x7f);
      }
    } catch (IOException e) {
      return; // the client has left
    }
  }

  @Test
  void aMasterThatAnswersNonsenseIsLostWithoutStackTracesOfC() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Thread answering =
          new Thread(
              () -> {
                answerNonsense(server); // of the probe, which sends nothing
                answerNonsense(server);
              });
      answering.start();
      assertThatThrownBy(
              () ->
                  ProcessGroup.join(
                      Master.at("127.0.0.1", server.getLocalPort()),
                      new Part(2, 1),
                      GroupOptions.ofTimeout(LIMIT)))
          .isInstanceOf(PeerLostException.class)
          .hasMessageContaining("ready or not_ready response expected")
          .satisfies(
              e ->
                  assertThat(Throwables.getStackTrace(e))
                      .doesNotContain("frame #", "Exception raised from"));
      answering.join();
    }
  }

  @Test
  void theStoreOfPythonsRanksIsRefusedAndTheyJoin() throws Exception {
    TestPython.assume();
    Path script = Files.writeString(folder.resolve("join.py"), SCRIPT);
    try (ReservedPort port = ReservedPort.open();
        TestJvm first = TestPython.start(folder, variables(port, 0), script)) {
      first.await(lines -> lines.contains("joins"));
      assertRefused(port, "such as Python's ranks; each job"); // which lists none of its keys
      try (TestJvm second = TestPython.start(folder, variables(port, 1), script)) {
        assertThat(second.exitCode()).as("%s", second.output()).isZero();
        assertThat(first.exitCode()).as("%s", first.output()).isZero();
        assertThat(first.output()).contains("joined 2");
      }
    }
  }

  private static Map<String, String> variables(ReservedPort port, int rank) {
    return Map.of(
        "RANK",
        String.valueOf(rank),
        "WORLD_SIZE",
        "2",
        "MASTER_ADDR",
        "127.0.0.1",
        "MASTER_PORT",
        String.valueOf(port.number()),
        "GLOO_SOCKET_IFNAME",
        "lo");
  }
}
