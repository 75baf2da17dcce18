// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.storage.ByteSourceException.Problem;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of first answers, and of servers that give none. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HttpContactTest {
  private static final int SIZE = 100_000;
  private static final String SECRET = "s3cr3t";
  private static final HttpOptions OPTIONS =
      HttpOptions.defaults().withHeader("Authorization", SECRET);

  private final FaultServer server;

  HttpContactTest() throws IOException {
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

  /** An object of bytes would be taken for an empty one. */
  @ParameterizedTest
  @CsvSource({"0, the server does not serve byte 0 of 100000", "-1, without one for the whole"})
  void a416WithoutASizeIsNoEmptyObject(int length, String message) throws IOException {
    server.faults.add(FaultServer.status(416, Map.of()));
    if (length < 0) {
      server.faults.add(
          (request, connection) -> {
            connection.head(200, Map.of("Transfer-Encoding", "chunked"));
            connection.out().write("1\r\nx\r\n0\r\n\r\n".getBytes(ISO_8859_1));
          });
    }
    try (HttpSource source = source(OPTIONS)) {
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(source::size)
          .withMessageContaining(message)
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.WRONG_ANSWER));
    }
    assertThat(server.requests).hasSize(2);
    assertThat(server.requests.get(1).header("Range")).isNull();
    assertThat(server.requests.get(1).header("Authorization")).isEqualTo(SECRET);
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "br", "identity", "aws-chunked"})
  void encodedBytesAreRefused(String encoding) throws IOException {
    server.headers.put("Content-Encoding", encoding);
    try (HttpSource source = source(OPTIONS)) {
      if (encoding.length() > 4) {
        assertThat(HttpSourceTest.read(source, 0, 9)).isEqualTo(HttpSourceTest.bytes(9, 1));
        return;
      }
      ByteBuffer into = ByteBuffer.allocate(9);
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> source.readFully(0, into))
          .withMessageContaining("the server answered with Content-Encoding: " + encoding)
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.WRONG_ANSWER));
      assertThat(into.array()).containsOnly(0);
    }
    assertThat(server.requests)
        .hasSize(1)
        .allSatisfy(each -> assertThat(each.header("Accept-Encoding")).isEqualTo("identity"));
  }

  /** An uploader notes so that the object is compressed; the store knows bytes only. */
  @Test
  void anObjectOfAStoreMayHaveBeenStoredWithAnEncoding() throws IOException {
    server.headers.put("Content-Encoding", "gzip");
    S3Bucket bucket =
        S3Bucket.of("rows", Map.of()).withEndpoint(server.uri("")).withoutCredentials();
    try (HttpSource source = bucket.source("a.csv.gz")) {
      assertThat(HttpSourceTest.read(source, 0, 9)).isEqualTo(HttpSourceTest.bytes(9, 1));
    }
  }

  private static void isUnavailable(ByteSource source, String... messages) {
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(source::size)
        .withMessageContainingAll(messages)
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNAVAILABLE))
        .satisfies(HttpFaultsTest::hasNoSecret);
  }

  /** A label of 64 letters is in no zone, so no name server is asked. */
  @Test
  void anUnknownHostIsGivenUpSoon() throws IOException {
    String host = "x".repeat(64) + ".invalid:81";
    try (HttpSource source = HttpSource.of(URI.create("http://%s/a".formatted(host)), OPTIONS)) {
      isUnavailable(
          source,
          "the connection failed: the host of %s is unknown; check the address".formatted(host),
          " within PT1S");
    }
  }

  @Test
  void aPortWithoutAServerIsGivenUpSoonUnlessOneHasAnswered() throws IOException {
    String message =
        "the connection failed: no server accepts it at %s; check host and port"
            .formatted(HttpPlace.host(server.uri("")));
    try (HttpSource known = source(OPTIONS.withRetryLimit(Duration.ofSeconds(6)));
        HttpSource source = source(OPTIONS)) {
      assertThat(HttpSourceTest.read(known, 0, 9)).isEqualTo(HttpSourceTest.bytes(9, 1));
      try (Socket port = server.closeButKeepPort();
          HttpSource once = source(OPTIONS.withRetryLimit(Duration.ZERO))) {
        assertThat(port.isBound()).isTrue();
        isUnavailable(source, message, " within PT5S");
        assertThatExceptionOfType(ByteSourceException.class)
            .isThrownBy(() -> HttpSourceTest.read(known, 9, 9))
            .withMessageContainingAll(message, " within PT6S");
        isUnavailable(once, message);
      }
    }
  }

  @Test
  void aServerOfAnotherProtocolIsGivenUpSoon() throws IOException {
    server.faults.addAll(
        Collections.nCopies(
            50,
            (request, connection) -> {
              connection.out().write("SSH-2.0-OpenSSH_9.2\r\n".getBytes(ISO_8859_1));
              connection.end(false);
            }));
    try (HttpSource source = source(OPTIONS)) {
      isUnavailable(source, "the connection failed: ", " within PT5S");
    }
  }

  @Test
  void aServerWithoutTlsIsGivenUpSoon() throws IOException {
    URI uri = URI.create(server.uri("/a").toString().replace("http:", "https:"));
    try (HttpSource source = HttpSource.of(uri, OPTIONS)) {
      isUnavailable(source, "the connection failed: ", " within PT5S");
    }
  }
}
