// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.ByteSourceException;
import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.storage.CachedSource;
import io.torchfeed.storage.HttpSource;
import io.torchfeed.storage.ReadAhead;
import io.torchfeed.storage.S3Bucket;
import io.torchfeed.storage.S3Credentials;
import io.torchfeed.storage.S3Keys;
import io.torchfeed.storage.S3Object;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Lists, reads, refusals and changes of objects. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class S3ServerTest {
  private static final S3Server SERVER = S3Server.start();
  private static final int SIZE = 100_000;

  @AfterAll
  static void stop() throws Exception {
    SERVER.close();
  }

  private static byte[] bytes(int size, int seed) {
    byte[] bytes = new byte[size];
    for (int i = 0; i < size; i++) {
      bytes[i] = (byte) (i * 31 * seed + i / 251);
    }
    return bytes;
  }

  private static byte[] read(ByteSource source, long offset, int count) throws IOException {
    byte[] bytes = new byte[count];
    source.readFully(offset, ByteBuffer.wrap(bytes));
    return bytes;
  }

  @Test
  void aListHasAllPagesOfAPrefix() throws IOException {
    List<String> keys = new ArrayList<>();
    for (int i = 0; i < 2100; i++) {
      keys.add("many/part-%05d".formatted(i));
      SERVER.put("pages", keys.get(i), new byte[i % 7]);
    }
    SERVER.put("pages", "man", new byte[1]);
    SERVER.put("pages", "none/x", new byte[1]);
    List<S3Object> listed = SERVER.bucket("pages").list("many/");
    assertThat(listed).extracting(S3Object::key).isEqualTo(keys);
    assertThat(listed.get(13).size()).isEqualTo(6);
    assertThat(SERVER.bucket("pages").list("")).hasSize(2102);
    assertThat(SERVER.bucket("pages").list("missing/")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a b",
        "a+b",
        "ü/é",
        "日本.bin",
        "100%",
        "%20",
        "a&b=c",
        "what?",
        "a#b",
        "a'b(c)!*",
        "~a@b,c;d:e$",
        "\"<>\"",
        "a=",
        "x[1]{2}|3^`"
      })
  void keysWithAnyCharactersAreListedAndRead(String key) throws IOException {
    byte[] content = key.getBytes(StandardCharsets.UTF_8);
    SERVER.put("keys", key, content);
    for (S3Bucket bucket : List.of(SERVER.bucket("keys"), SERVER.virtualHost("keys"))) {
      assertThat(bucket.list("")).extracting(S3Object::key).contains(key);
      assertThat(bucket.list(key)).extracting(S3Object::key).contains(key);
      try (HttpSource source = bucket.source(key)) {
        assertThat(source.name()).isEqualTo("keys/" + key);
        assertThat(read(source, 0, content.length)).isEqualTo(content);
      }
    }
  }

  @Test
  void rangesAreThoseOfTheObject() throws IOException {
    byte[] all = bytes(SIZE, 1);
    SERVER.put("rows", "a/ranges", all);
    SERVER.put("rows", "a/empty", new byte[0]);
    for (S3Bucket bucket : List.of(SERVER.bucket("rows"), SERVER.virtualHost("rows"))) {
      try (HttpSource source = bucket.source("a/ranges")) {
        assertThat(read(source, 1234, 7000)).isEqualTo(Arrays.copyOfRange(all, 1234, 8234));
        assertThat(read(source, 0, SIZE)).isEqualTo(all);
        assertThat(source.size()).isEqualTo(SIZE);
        assertThat(source.version()).startsWith("\"").endsWith("\"");
        assertThat(source.read(SIZE, ByteBuffer.allocate(1))).isEqualTo(-1);
      }
      try (HttpSource source = bucket.source("a/ranges")) {
        assertThat(source.read(SIZE + 5, ByteBuffer.allocate(1))).isEqualTo(-1);
      }
      try (HttpSource source = bucket.source("a/empty")) {
        assertThat(source.read(0, ByteBuffer.allocate(1))).isEqualTo(-1);
        assertThat(source.size()).isZero();
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "test-identity, wr0ng-key, DENIED, 403 SignatureDoesNotMatch; check the credentials",
    "stranger, wr0ng-key, DENIED, 403 InvalidAccessKeyId; check the credentials",
    ", , DENIED, 403 AccessDenied; check the credentials"
  })
  void wrongKeysAreNamedByTheCodeOfTheStore(
      String id, String secret, Problem problem, String message) {
    SERVER.put("rows", "secret.csv", bytes(10, 1));
    S3Bucket right = SERVER.bucket("rows");
    S3Bucket bucket =
        id == null
            ? right.withoutCredentials()
            : right.withCredentials(S3Credentials.of(S3Keys.of(id, secret)));
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> read(bucket.source("secret.csv"), 0, 5))
        .withMessage(
            "rows/secret.csv cannot be read at byte 0: the server answered "
                + message
                + " and their permissions")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(problem))
        .satisfies(S3ServerTest::hasNoSecret);
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> bucket.list(""))
        .withMessageContaining("the list of rows/ cannot be read at byte 0: the server answered ")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(problem))
        .satisfies(S3ServerTest::hasNoSecret);
  }

  private static void hasNoSecret(Throwable thrown) {
    for (Throwable e = thrown; e != null; e = e.getCause()) {
      assertThat(String.valueOf(e))
          .doesNotContain("wr0ng-key", S3Server.SECRET, "Signature=", "stranger", S3Server.ID);
    }
  }

  @Test
  void whatIsMissingIsNamedByTheCodeOfTheStore() {
    SERVER.put("rows", "there", bytes(10, 1));
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> SERVER.bucket("rows").source("not there").size())
        .withMessageContaining("the server answered 404 NoSuchKey: no such object")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.MISSING));
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> SERVER.bucket("no-rows").list(""))
        .withMessageContaining("the server answered 404 NoSuchBucket")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.MISSING));
  }

  @ParameterizedTest
  @ValueSource(ints = {SIZE, SIZE + 1, 50})
  void anObjectThatIsReplacedIsNotMixed(int size) throws IOException {
    SERVER.put("rows", "replaced", bytes(SIZE, 1));
    try (HttpSource source = SERVER.bucket("rows").source("replaced")) {
      assertThat(read(source, 0, 100)).isEqualTo(bytes(100, 1));
      SERVER.put("rows", "replaced", bytes(size, 3));
      ByteBuffer into = ByteBuffer.allocate(100);
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> source.readFully(100, into))
          .withMessageContaining("the object has changed since its first bytes were read")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.CHANGED));
      assertThat(into.array()).containsOnly(0);
    }
  }

  @Test
  void aReplacedObjectIsNotMixedWithBlocksOfACache(@TempDir Path folder) throws IOException {
    SERVER.put("rows", "cached", bytes(SIZE, 1));
    try (ByteSource source = cached(folder, "cached")) {
      assertThat(read(source, 0, 10_000)).isEqualTo(bytes(10_000, 1));
      SERVER.put("rows", "cached", bytes(SIZE, 3));
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> read(source, 90_000, 100))
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.CHANGED));
    }
    try (ByteSource source = cached(folder, "cached")) {
      assertThat(read(source, 0, SIZE)).isEqualTo(bytes(SIZE, 3));
    }
  }

  private static ByteSource cached(Path folder, String key) {
    HttpSource object = SERVER.bucket("rows").source(key);
    return ReadAhead.of(CachedSource.of(object, folder, 1 << 20, 5000), 5000, 2);
  }
}
