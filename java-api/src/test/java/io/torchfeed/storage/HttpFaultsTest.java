// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.storage.FaultServer.Reply;
import java.io.IOException;
import java.net.http.HttpClient;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of servers that fail: the right bytes, or an exception that names the failure. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HttpFaultsTest {
  private static final int SIZE = 100_000;
  private static final String SECRET = "s3cr3t";
  private static final HttpOptions QUICK =
      HttpOptions.defaults()
          .withStallTimeout(Duration.ofMillis(300))
          .withHeader("Authorization", SECRET);

  private final FaultServer server;

  HttpFaultsTest() throws IOException {
    server = new FaultServer(HttpSourceTest.bytes(SIZE, 1));
    server.headers.put("ETag", "\"one\"");
  }

  @AfterEach
  void closeTheServer() throws IOException {
    server.close();
  }

  private HttpSource source(HttpOptions options) {
    return HttpSource.of(server.uri("/a?key=" + SECRET), options);
  }

  /** Failures that pass. */
  private enum Fault implements Reply {
    /** No answer at all. */
    STALL {
      @Override
      public void answer(FaultServer.Request request, FaultServer.Connection connection)
          throws IOException {
        connection.stall();
      }
    },
    /** A head, a part of the body, and then silence. */
    STALL_IN_BODY {
      @Override
      public void answer(FaultServer.Request request, FaultServer.Connection connection)
          throws IOException {
        part(request, connection);
        connection.stall();
      }
    },
    /** A head, and the end of the connection. */
    TRUNCATED_AT_ONCE {
      @Override
      public void answer(FaultServer.Request request, FaultServer.Connection connection)
          throws IOException {
        connection.head(206, head(request));
        connection.end(false);
      }
    },
    /** A part of the body, and the end of the connection. */
    TRUNCATED {
      @Override
      public void answer(FaultServer.Request request, FaultServer.Connection connection)
          throws IOException {
        part(request, connection);
        connection.end(false);
      }
    },
    RESET {
      @Override
      public void answer(FaultServer.Request request, FaultServer.Connection connection)
          throws IOException {
        connection.end(true);
      }
    },
    RESET_IN_BODY {
      @Override
      public void answer(FaultServer.Request request, FaultServer.Connection connection)
          throws IOException {
        part(request, connection);
        connection.end(true);
      }
    },
    NO_HTTP {
      @Override
      public void answer(FaultServer.Request request, FaultServer.Connection connection)
          throws IOException {
        connection.out().write(new byte[] {1, 2, 3, '\r', '\n', '\r', '\n'});
        connection.end(false);
      }
    },
    BUSY {
      @Override
      public void answer(FaultServer.Request request, FaultServer.Connection connection)
          throws IOException {
        connection.text(503, Map.of(), "<Error><Code>SlowDown</Code></Error>");
      }
    },
    TOO_MANY {
      @Override
      public void answer(FaultServer.Request request, FaultServer.Connection connection)
          throws IOException {
        connection.text(429, Map.of("Retry-After", "0"), "x".repeat(100_000));
      }
    };

    private static Map<String, String> head(FaultServer.Request request) {
      long[] range = FaultServer.range(request, SIZE);
      Map<String, String> head = new TreeMap<>();
      head.put("ETag", "\"one\"");
      head.put("Content-Length", String.valueOf(range[1] - range[0] + 1));
      head.put("Content-Range", "bytes %d-%d/%d".formatted(range[0], range[1], SIZE));
      return head;
    }

    private static void part(FaultServer.Request request, FaultServer.Connection connection)
        throws IOException {
      connection.head(206, head(request));
      connection
          .out()
          .write(HttpSourceTest.bytes(SIZE, 1), (int) FaultServer.range(request, SIZE)[0], 100);
    }
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  void aFailureThatPassesLeavesTheRightBytes(Fault fault) throws IOException {
    server.faults.addAll(Collections.nCopies(2, fault));
    try (HttpSource source = source(QUICK)) {
      assertThat(HttpSourceTest.read(source, 0, SIZE)).isEqualTo(HttpSourceTest.bytes(SIZE, 1));
    }
    assertThat(server.requests).hasSize(3);
  }

  @ParameterizedTest
  @CsvSource({
    "STALL, the server sent nothing for PT0.3S",
    "TRUNCATED_AT_ONCE, the connection failed",
    "RESET, the connection failed",
    "NO_HTTP, the connection failed",
    "BUSY, the server answered 503 SlowDown",
    "TOO_MANY, the server answered 429"
  })
  void aFailureThatStaysIsNamed(Fault fault, String message) throws IOException {
    server.faults.addAll(Collections.nCopies(50, fault));
    try (HttpSource source = source(QUICK.withRetryLimit(Duration.ofMillis(500)))) {
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> source.readFully(7, ByteBuffer.allocate(100)))
          .withMessageStartingWith(source.name() + " cannot be read at byte 7: " + message)
          .withMessageContaining("; this was try ")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNAVAILABLE))
          .satisfies(HttpFaultsTest::hasNoSecret);
    }
    assertThat(server.requests).hasSizeBetween(2, 10);
  }

  static void hasNoSecret(Throwable thrown) {
    for (Throwable e = thrown; e != null; e = e.getCause()) {
      assertThat(String.valueOf(e)).doesNotContain(SECRET);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "400, DENIED, the server answered 400 InvalidToken; check the credentials",
    "405, WRONG_ANSWER, the server answered 405 InvalidToken",
    "401, DENIED, the server answered 401 InvalidToken; check the credentials",
    "403, DENIED, the server answered 403 InvalidToken; check the credentials",
    "404, MISSING, the server answered 404 InvalidToken: no such object",
    "410, MISSING, the server answered 410 InvalidToken: no such object",
    "200, WRONG_ANSWER, the server answered 200 with the whole object in place of a range",
    "202, WRONG_ANSWER, the server answered 202"
  })
  void anAnswerThatStaysIsNotAskedForAgain(int status, Problem problem, String message)
      throws IOException {
    String body = "<Error><Code>InvalidToken</Code><Token>" + SECRET + "</Token></Error>";
    server.faults.add((request, connection) -> connection.text(status, Map.of(), body));
    try (HttpSource source = source(QUICK)) {
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(source::size)
          .withMessageContaining(message)
          .satisfies(e -> assertThat(e.problem()).isEqualTo(problem))
          .satisfies(HttpFaultsTest::hasNoSecret);
    }
    assertThat(server.requests).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "bytes 1-100/100000",
        "bytes 1-99/100000",
        "bytes 0-100/100000",
        "bytes 0-99/50",
        "bytes 5-4/100000",
        "bytes 0-99/*",
        "bytes 0-99",
        "rows 0-99/100000",
        "none"
      })
  void aWrongRangeIsRefused(String range) throws IOException {
    server.faults.add(
        (request, connection) ->
            connection.text(206, Map.of("Content-Range", range), "x".repeat(100)));
    ByteBuffer into = ByteBuffer.allocate(100);
    try (HttpSource source = source(QUICK)) {
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> source.readFully(0, into))
          .withMessageContaining(
              "must answer with the bytes 0 to 99 and the size, got Content-Range: " + range)
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.WRONG_ANSWER));
      assertThat(into.array()).containsOnly(0);
      assertThat(HttpSourceTest.read(source, 0, 9)).isEqualTo(HttpSourceTest.bytes(9, 1));
    }
  }

  @Test
  void aServerMaySendFewerBytesButNotMore() throws IOException {
    Map<String, String> head = Map.of("ETag", "\"one\"", "Content-Range", "bytes 0-9/100000");
    server.faults.add(
        (request, connection) ->
            connection.text(206, head, new String(HttpSourceTest.bytes(10, 1), ISO_8859_1)));
    server.faults.add((request, connection) -> connection.text(206, head, "x".repeat(11)));
    try (HttpSource source = source(QUICK)) {
      assertThat(source.read(0, ByteBuffer.allocate(100))).isEqualTo(10);
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> source.readFully(0, ByteBuffer.allocate(100)))
          .withMessageContaining("sent more bytes than its Content-Range has")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.WRONG_ANSWER));
    }
  }

  @Test
  void aServerThatAsksForALongWaitIsNotWaitedFor() throws IOException {
    String tomorrow =
        DateTimeFormatter.RFC_1123_DATE_TIME.format(ZonedDateTime.now(ZoneOffset.UTC).plusHours(2));
    for (String wait : new String[] {"7200", tomorrow}) {
      server.faults.add(FaultServer.status(503, Map.of("Retry-After", wait)));
      try (HttpSource source = source(QUICK)) {
        assertThatExceptionOfType(ByteSourceException.class)
            .isThrownBy(source::size)
            .withMessageContaining("the server answered 503; the server asks to wait 7")
            .withMessageEndingWith("s, which is more than is left of PT2M")
            .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNAVAILABLE));
      }
    }
    assertThat(server.requests).hasSize(2);
  }

  /** Longer than the silence that is allowed, but never silent. */
  @Test
  void aSlowServerIsWaitedFor() throws IOException {
    server.faults.add(
        (request, connection) -> {
          connection.head(206, Fault.head(request));
          for (int i = 0; i < 10; i++) {
            connection.out().write(HttpSourceTest.bytes(SIZE, 1), i * SIZE / 10, SIZE / 10);
            connection.out().flush();
            sleep(100);
          }
        });
    try (HttpSource source = source(QUICK)) {
      assertThat(HttpSourceTest.read(source, 0, SIZE)).isEqualTo(HttpSourceTest.bytes(SIZE, 1));
    }
    assertThat(server.requests).hasSize(1);
  }

  private static void sleep(int millis) throws IOException {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new IOException("interrupted", e);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anInterruptEndsARead(boolean isSilent) throws Exception {
    server.faults.addAll(Collections.nCopies(9, isSilent ? Fault.STALL : Fault.BUSY));
    try (HttpSource source = source(HttpOptions.defaults())) {
      FutureTask<Boolean> interrupted =
          new FutureTask<>(
              () -> {
                assertThatExceptionOfType(ByteSourceException.class)
                    .isThrownBy(source::size)
                    .withMessageContaining("the thread was interrupted")
                    .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.INTERRUPTED));
                return Thread.interrupted();
              });
      Thread thread = new Thread(interrupted);
      thread.start();
      while (server.requests.isEmpty()) {
        Thread.onSpinWait();
      }
      thread.interrupt();
      assertThat(interrupted.get()).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {301, 302, 303, 307, 308})
  void aRedirectToAnotherHostTakesNoCredentials(int status) throws IOException {
    try (FaultServer other = new FaultServer(HttpSourceTest.bytes(SIZE, 1));
        HttpSource source = source(QUICK)) {
      other.headers.put("ETag", "\"one\"");
      Map<String, String> head = Map.of("Location", other.uri("/b?token=" + SECRET).toString());
      server.faults.add(FaultServer.status(status, head));
      assertThat(HttpSourceTest.read(source, 0, 99)).isEqualTo(HttpSourceTest.bytes(99, 1));
      assertThat(HttpSourceTest.read(source, 0, 9)).isEqualTo(HttpSourceTest.bytes(9, 1));
      assertThat(server.requests).hasSize(1);
      assertThat(other.requests)
          .hasSize(2)
          .allSatisfy(each -> assertThat(each.target()).isEqualTo("/b?token=" + SECRET))
          .allSatisfy(each -> assertThat(each.header("Authorization")).isNull());
      other.faults.add(FaultServer.status(403, Map.of())); // its token has expired
      assertThat(HttpSourceTest.read(source, 9, 99)).hasSize(99);
      assertThat(server.requests)
          .hasSize(2)
          .allSatisfy(each -> assertThat(each.header("Authorization")).isEqualTo(SECRET))
          .allSatisfy(each -> assertThat(each.target()).isEqualTo("/a?key=" + SECRET));
    }
  }

  @Test
  void aRedirectWithinTheServerKeepsCredentials() throws IOException {
    server.faults.add(FaultServer.status(302, Map.of("Location", "b")));
    try (HttpSource source = source(QUICK)) {
      assertThat(source.size()).isEqualTo(SIZE);
    }
    assertThat(server.requests.get(1).target()).isEqualTo("/b");
    assertThat(server.requests.get(1).header("Authorization")).isEqualTo(SECRET);
  }

  @ParameterizedTest
  @CsvSource({
    "/a, redirects (302) for the 11th time",
    "'', redirects (302) to no address of HTTP",
    "ftp://host/s3cr3t, redirects (302) to no address of HTTP",
    "http://:s3cr3t, redirects (302) to no address of HTTP",
    "'http://s3cr3t host', redirects (302) to an address that is none"
  })
  void aRedirectThatLeadsNowhereIsRefused(String location, String message) throws IOException {
    Map<String, String> head = location.isEmpty() ? Map.of() : Map.of("Location", location);
    server.faults.addAll(Collections.nCopies(20, FaultServer.status(302, head)));
    try (HttpSource source = source(QUICK)) {
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(source::size)
          .withMessageContaining(message)
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.WRONG_ANSWER))
          .satisfies(HttpFaultsTest::hasNoSecret);
    }
  }

  @Test
  void aClientOfTheProgramIsUsed() throws IOException {
    HttpClient client = HttpClient.newHttpClient();
    try (HttpSource source = source(QUICK.withClient(client))) {
      assertThat(HttpSourceTest.read(source, 0, 9)).isEqualTo(HttpSourceTest.bytes(9, 1));
    }
  }
}
