// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.text.LineCursor;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of objects that a server serves as it should, and of changed ones. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HttpSourceTest {
  private static final int SIZE = 300_000;
  private static final String SECRET = "s3cr3t";

  private final FaultServer server;

  HttpSourceTest() throws IOException {
    server = new FaultServer(bytes(SIZE, 1));
    server.headers.put("ETag", "\"one\"");
  }

  @AfterEach
  void closeTheServer() throws IOException {
    server.close();
  }

  static byte[] bytes(int size, int seed) {
    byte[] bytes = new byte[size];
    for (int i = 0; i < size; i++) {
      bytes[i] = (byte) (i * 31 * seed + i / 251);
    }
    return bytes;
  }

  static byte[] read(ByteSource source, long offset, int count) throws IOException {
    byte[] bytes = new byte[count];
    source.readFully(offset, ByteBuffer.wrap(bytes));
    return bytes;
  }

  private HttpSource source() {
    return HttpSource.of(server.uri("/data/train.csv?signature=" + SECRET));
  }

  private static List<String> lines(ByteSource source) {
    List<String> lines = new ArrayList<>();
    TextPartition plan = TextPartition.of(List.of(source), 2);
    for (int rank = 0; rank < 2; rank++) {
      try (LineCursor cursor = plan.open(rank)) {
        while (cursor.next()) {
          lines.add(cursor.text());
        }
      }
    }
    return lines;
  }

  @Test
  void linesOfAServerAreReadByRanks() throws IOException {
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      expected.add("row," + i);
    }
    server.content = (String.join("\n", expected) + "\n").getBytes(UTF_8);
    try (HttpSource source = source()) {
      assertThat(lines(source)).isEqualTo(expected);
    }
  }

  @Test
  void objectsWithoutAnEtagThatDifferInTheQueryHaveOtherVersions() throws IOException {
    server.headers.remove("ETag");
    try (HttpSource one = HttpSource.of(URI.create(server.uri("/a") + "?id=1"));
        HttpSource other = HttpSource.of(URI.create(server.uri("/a") + "?id=2"))) {
      assertThat(one.name()).isEqualTo(other.name());
      assertThat(one.version()).isNotEqualTo(other.version());
    }
  }

  @Test
  void bytesFromAnyPositionAreThoseOfTheObject(@TempDir Path folder) throws IOException {
    byte[] all = bytes(SIZE, 1);
    try (HttpSource source = source()) {
      assertThat(read(source, 1234, 70_000)).isEqualTo(Arrays.copyOfRange(all, 1234, 71_234));
      assertThat(source.size()).isEqualTo(SIZE);
      assertThat(source.version()).isEqualTo("\"one\"");
      assertThat(read(source, SIZE - 1, 1)).isEqualTo(Arrays.copyOfRange(all, SIZE - 1, SIZE));
      ByteBuffer more = ByteBuffer.allocateDirect(100).position(10);
      assertThat(source.read(SIZE - 5, more)).isEqualTo(5);
      assertThat(more.position()).isEqualTo(15);
      assertThat(more.get(14)).isEqualTo(all[SIZE - 1]);
      assertThat(source.read(SIZE, more)).isEqualTo(-1);
      assertThat(server.requests).hasSize(3);
      source.copyTo(folder.resolve("copy"));
      assertThat(folder.resolve("copy")).hasBinaryContent(all);
    }
    assertThat(server.requests.get(0).header("If-Match")).isNull();
    assertThat(server.requests.get(0).header("Range")).isEqualTo("bytes=1234-71233");
    assertThat(server.requests.subList(1, server.requests.size()))
        .allSatisfy(each -> assertThat(each.header("If-Match")).isEqualTo("\"one\""));
  }

  @Test
  void anEmptyObjectAndAnOffsetAfterTheEndAreNoFailures() throws IOException {
    try (HttpSource source = source()) {
      assertThat(source.read(SIZE + 7, ByteBuffer.allocate(1))).isEqualTo(-1);
      assertThat(read(source, 0, 2)).isEqualTo(bytes(2, 1));
    }
    server.content = new byte[0];
    for (int i = 0; i < 3; i++) {
      if (i > 0) { // S3 sends no Content-Range with 416; others ignore ranges of nothing
        server.faults.add(FaultServer.status(i == 1 ? 416 : 200, Map.of()));
      }
      try (HttpSource source = source()) {
        assertThat(source.size()).isZero();
        if (i == 1) { // another request has told it
          assertThat(source.version()).isEqualTo("\"one\"");
        }
        assertThat(source.read(0, ByteBuffer.allocate(1))).isEqualTo(-1);
      }
    }
    server.content = bytes(9, 1);
    server.faults.add(FaultServer.status(416, Map.of()));
    try (HttpSource source = source()) {
      assertThat(source.read(9, ByteBuffer.allocate(1))).isEqualTo(-1);
      assertThat(source.size()).isEqualTo(9);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "ETag, \"two\", true, the server answered 412",
    "ETag, \"two\", false, its ETag was \"one\" and is now \"two\"",
    "ETag, W/\"two\", true, its ETag was W/\"one\" and is now W/\"two\"",
    "Last-Modified, b, true, the server answered 412",
    "Last-Modified, b, false, its Last-Modified was a and is now b",
    "Content-Language, a, true, its size was 300000 and is now 300001"
  })
  void aChangedObjectIsRefused(String header, String later, boolean refuses, String message)
      throws IOException {
    server.honoursConditions = refuses;
    server.headers.clear();
    server.headers.put(header, later.replace("two", "one").replace('b', 'a'));
    try (HttpSource source = source()) {
      assertThat(read(source, 0, 100)).isEqualTo(bytes(100, 1));
      server.headers.put(header, later);
      server.content = bytes(header.startsWith("C") ? SIZE + 1 : SIZE, 3);
      ByteBuffer into = ByteBuffer.allocate(100);
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> source.readFully(100, into))
          .withMessageStartingWith(source.name() + " cannot be read at byte 100: ")
          .withMessageContaining("the object has changed since its first bytes were read")
          .withMessageContaining(message)
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.CHANGED));
      assertThat(into.array()).containsOnly(0);
    }
  }

  @ParameterizedTest
  @CsvSource({"ETag, W/\"one\", none", "Last-Modified, a, a", "Content-Language, a, none"})
  void anUnchangedObjectWithoutAStrongEtagIsReadOn(String header, String value, String condition)
      throws IOException {
    server.headers.clear();
    server.headers.put(header, value);
    try (HttpSource source = source()) {
      assertThat(read(source, 0, 100)).isEqualTo(bytes(100, 1));
      assertThat(read(source, 0, 200)).isEqualTo(bytes(200, 1));
    }
    FaultServer.Request later = server.requests.get(1);
    assertThat(later.header("If-Match")).isNull();
    assertThat(later.header("If-Unmodified-Since"))
        .isEqualTo(condition.equals("none") ? null : condition);
  }

  @Test
  void anObjectThatShrinksIsRefused() throws IOException {
    server.honoursConditions = false;
    try (HttpSource source = source()) {
      assertThat(source.size()).isEqualTo(SIZE);
      server.content = bytes(100, 1);
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> read(source, 100, 100))
          .withMessageContaining("it has no byte 100 any more")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.CHANGED));
    }
  }

  @Test
  void headersGoWithEachRequestAndIntoNoText() throws IOException {
    HttpOptions options =
        HttpOptions.defaults()
            .withHeader("Authorization", "Bearer any")
            .withHeader("authorization", "Bearer " + SECRET);
    try (HttpSource source = HttpSource.of(server.uri("/a?key=" + SECRET), options)) {
      assertThat(read(source, 0, 9)).isEqualTo(bytes(9, 1));
      assertThat(read(source, 9, 9)).hasSize(9);
      assertThat(server.requests)
          .hasSize(2)
          .allSatisfy(
              each -> assertThat(each.header("Authorization")).isEqualTo("Bearer " + SECRET));
      assertThat(options.toString()).contains("[Authorization]").doesNotContain(SECRET);
      assertThat(source.toString()).isEqualTo("HttpSource[" + source.name() + "]");
      assertThat(source.name()).startsWith("127.0.0.1:").endsWith("/a");
    }
  }

  @Test
  void aValueIsInNoMessage() {
    HttpOptions options = HttpOptions.defaults();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> options.withHeader("Authorization", SECRET + "\n"))
        .withMessage(
            "the value of Authorization must have characters of ISO 8859-1 and no line breaks");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> options.withHeader("Host", SECRET))
        .withMessageContaining("Host")
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain(SECRET));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> options.withHeader("range", "bytes=0-1"))
        .withMessageContaining("a header that the source sets, got range");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> HttpSource.of(URI.create("http://me:" + SECRET + "@host/a")))
        .withMessage(
            "uri must not have a user and a password, got some for host; "
                + "use the header Authorization");
  }

  @ParameterizedTest
  @ValueSource(strings = {"ftp://host/a", "a/b", "http:/a", "file:///a"})
  void otherAddressesAreRefused(String uri) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> HttpSource.of(URI.create(uri)))
        .withMessageStartingWith("uri must begin with http:// or https:// and have a host");
  }

  @Test
  void aClientThatFollowsRedirectsIsRefused() {
    HttpClient client = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> HttpOptions.defaults().withClient(client))
        .withMessageContaining("must not follow redirects, got NORMAL");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> HttpOptions.defaults().withStallTimeout(Duration.ZERO))
        .withMessageContaining("timeout must be at least 1 ms");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> HttpOptions.defaults().withRetryLimit(Duration.ofMillis(-1)))
        .withMessageContaining("limit must be at least 0");
  }

  @Test
  void aClosedSourceIsNotRead() throws IOException {
    HttpSource source = source();
    source.close();
    source.close();
    assertThatExceptionOfType(ClosedChannelException.class).isThrownBy(source::size);
    assertThatExceptionOfType(ClosedChannelException.class)
        .isThrownBy(() -> source.read(0, ByteBuffer.allocate(1)));
    assertThat(server.requests).isEmpty();
  }
}
