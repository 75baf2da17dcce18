// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.storage.ByteSourceException.Problem;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class S3BucketTest {
  private static final String SECRET = "s3cr3t";
  private static final S3Keys KEYS = S3Keys.of("user", SECRET).withSessionToken("t0k3n" + SECRET);

  private final FaultServer server = new FaultServer(HttpSourceTest.bytes(1000, 1));

  S3BucketTest() throws IOException {
    server.headers.put("ETag", "\"one\"");
  }

  @AfterEach
  void closeTheServer() throws IOException {
    server.close();
  }

  private S3Bucket bucket() {
    return S3Bucket.of("rows", Map.of())
        .withEndpoint(server.uri(""))
        .withCredentials(S3Credentials.of(KEYS))
        .withOptions(HttpOptions.defaults().withRetryLimit(Duration.ofMillis(300)));
  }

  private void answer(int status, String body) {
    server.faults.add((request, connection) -> connection.text(status, Map.of(), body));
  }

  @Test
  void eachRequestIsSigned() throws IOException {
    HttpOptions options =
        HttpOptions.defaults().withHeader("X-Amz-Request-Payer", "requester").withHeader("A", "b");
    try (HttpSource source = bucket().withOptions(options).source("a/b c+é.csv")) {
      assertThat(source.name()).isEqualTo("rows/a/b c+é.csv");
      assertThat(HttpSourceTest.read(source, 0, 9)).isEqualTo(HttpSourceTest.bytes(9, 1));
      assertThat(HttpSourceTest.read(source, 9, 9)).hasSize(9);
    }
    assertThat(server.requests)
        .hasSize(2)
        .allSatisfy(each -> assertThat(each.target()).isEqualTo("/rows/a/b%20c%2B%C3%A9.csv"))
        .allSatisfy(
            each ->
                assertThat(each.header("Authorization"))
                    .startsWith("AWS4-HMAC-SHA256 Credential=user/")
                    .contains(
                        "/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;"
                            + "x-amz-date;x-amz-request-payer;x-amz-security-token, Signature="))
        .allSatisfy(each -> assertThat(each.header("x-amz-request-payer")).isEqualTo("requester"))
        .allSatisfy(each -> assertThat(each.header("A")).isEqualTo("b"))
        .allSatisfy(
            each -> assertThat(each.header("x-amz-security-token")).isEqualTo("t0k3n" + SECRET));
  }

  @Test
  void aBucketWithoutCredentialsSignsNothing() throws IOException {
    try (HttpSource source = bucket().withoutCredentials().source("a")) {
      assertThat(source.size()).isEqualTo(1000);
    }
    assertThat(server.requests.get(0).header("Authorization")).isNull();
  }

  @ParameterizedTest
  @CsvSource({
    "rows, , , https://rows.s3.eu-west-1.amazonaws.com/k",
    "rows.of.me, , , https://s3.eu-west-1.amazonaws.com/rows.of.me/k",
    "Rows_1, , , https://s3.eu-west-1.amazonaws.com/Rows_1/k",
    "rows, , true, https://s3.eu-west-1.amazonaws.com/rows/k",
    "rows, http://me:9000/s3/, , http://me:9000/s3/rows/k",
    "rows, http://me:9000, false, http://rows.me:9000/k"
  })
  void addressesHaveTheBucketInHostOrPath(String name, String endpoint, Boolean path, String uri) {
    S3Bucket bucket = S3Bucket.of(name, Map.of("AWS_REGION", "eu-west-1"));
    bucket = endpoint == null ? bucket : bucket.withEndpoint(URI.create(endpoint));
    bucket = path == null ? bucket : bucket.withPathStyle(path);
    assertThat(bucket.address("/k", "")).isEqualTo(URI.create(uri));
  }

  @Test
  void variablesNameRegionAndEndpoint() {
    Map<String, String> variables =
        Map.of("AWS_DEFAULT_REGION", "eu-west-1", "AWS_ENDPOINT_URL", "https://store:1");
    assertThat(S3Bucket.of("rows", variables).address("/", "a=b"))
        .isEqualTo(URI.create("https://store:1/rows/?a=b"));
    assertThat(S3Bucket.of("rows", Map.of()).address("/", ""))
        .isEqualTo(URI.create("https://rows.s3.us-east-1.amazonaws.com/"));
  }

  @Test
  void aListHasAllPages() throws IOException {
    answer(
        200,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            + "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
            + "<Name>rows</Name><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
            + "<Contents><Key>a+b%2B%C3%A9%00</Key><Size>12</Size><ETag>&quot;x&quot;</ETag>"
            + "<Owner><ID>Key</ID></Owner></Contents>"
            + "<CommonPrefixes><Prefix>p</Prefix></CommonPrefixes>"
            + "<NextContinuationToken>1/2=</NextContinuationToken></ListBucketResult>");
    answer(503, "<Error><Code>SlowDown</Code></Error>");
    answer(
        200,
        "<ListBucketResult><IsTruncated>false</IsTruncated>"
            + "<Contents><Key>a+b</Key><Size>5000000000</Size></Contents></ListBucketResult>");
    assertThat(bucket().list("a b/"))
        .isEqualTo(
            List.of(
                new S3Object("a b+é\u0000", 12, "\"x\""), new S3Object("a+b", 5000000000L, "")));
    String query = "encoding-type=url&list-type=2&prefix=a%20b%2F";
    assertThat(server.requests.get(0).target()).isEqualTo("/rows/?" + query);
    assertThat(server.requests.get(2).target())
        .isEqualTo("/rows/?continuation-token=1%2F2%3D&" + query);
    assertThat(server.requests)
        .allSatisfy(each -> assertThat(each.header("x-amz-date")).isNotNull());
  }

  @Test
  void aListThatRepeatsItsTokenIsRefused() {
    String page =
        "<ListBucketResult><IsTruncated>true</IsTruncated>"
            + "<NextContinuationToken>t</NextContinuationToken></ListBucketResult>";
    for (int i = 0; i < 3; i++) {
      answer(200, page);
    }
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> bucket().list("a"))
        .withMessageContaining("it repeats its continuation token")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.WRONG_ANSWER));
  }

  @ParameterizedTest
  @CsvSource({
    "<html></html>, the first element must be ListBucketResult",
    "<ListBucketResult>, the store must answer with a ListBucketResult",
    "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>, it must have a Size",
    "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>, "
        + "it must have a NextContinuationToken",
    "'', the answer is empty"
  })
  void aListThatIsNoneIsRefused(String body, String message) {
    answer(200, body);
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> bucket().list("a"))
        .withMessageStartingWith("the list of rows/a cannot be read at byte 0: ")
        .withMessageContaining(message)
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.WRONG_ANSWER));
  }

  /** The file exists, but the parser must not open it. */
  @Test
  void entitiesAreNotResolved() {
    answer(
        200,
        "<!DOCTYPE ListBucketResult [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>"
            + "<ListBucketResult><Contents><Key>&e;</Key><Size>1</Size></Contents>"
            + "</ListBucketResult>");
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> bucket().list(""))
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.WRONG_ANSWER));
  }

  @Test
  void aPageThatEndsEarlyIsAskedForAgain() throws IOException {
    String page =
        "<ListBucketResult><Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>";
    server.faults.add(
        (request, connection) -> {
          connection.head(200, Map.of("Content-Length", String.valueOf(page.length())));
          connection.out().write(new byte[20]);
          connection.end(false);
        });
    answer(200, page);
    assertThat(bucket().list("")).containsExactly(new S3Object("a", 1, ""));
  }

  @ParameterizedTest
  @CsvSource({
    "403, SignatureDoesNotMatch, DENIED, check the credentials",
    "400, ExpiredToken, DENIED, check the credentials",
    "404, NoSuchKey, MISSING, no such object",
    "404, NoSuchBucket, MISSING, no such object"
  })
  void errorsOfTheStoreAreNamedByTheirCode(int status, String code, Problem problem, String cure) {
    answer(
        status,
        "<Error><Code>%s</Code><StringToSign>%s</StringToSign></Error>".formatted(code, SECRET));
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> bucket().source("a").readFully(0, ByteBuffer.allocate(1)))
        .withMessageStartingWith(
            "rows/a cannot be read at byte 0: the server answered %d %s".formatted(status, code))
        .withMessageContaining(cure)
        .satisfies(e -> assertThat(e.problem()).isEqualTo(problem))
        .satisfies(e -> assertThat(e.toString()).doesNotContain(SECRET));
  }

  @ParameterizedTest
  @ValueSource(ints = {301, 307, 400})
  void theRegionOfTheBucketIsNamed(int status) {
    server.faults.add(FaultServer.status(status, Map.of("x-amz-bucket-region", "eu-south-2")));
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> bucket().source("a").size())
        .withMessageContaining("the bucket is in the region eu-south-2; use withRegion");
  }

  @Test
  void credentialsThatCannotBeHadAreAFailureOfTheRead() {
    S3Credentials none =
        () -> {
          throw new IOException("no keys today");
        };
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(() -> bucket().withCredentials(none).source("a").size())
        .withMessage("rows/a cannot be read at byte 0: no keys today")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.DENIED));
    assertThat(server.requests).isEmpty();
  }

  @Test
  void wrongArgumentsAreRefusedAndNoTextHasKeys() {
    assertThatIllegalArgumentException().isThrownBy(() -> S3Bucket.of("a/b"));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> bucket().withRegion("eu west"))
        .withMessageContaining("got eu west");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> bucket().withEndpoint(URI.create("http://u:" + SECRET + "@host")))
        .withMessageEndingWith("got one of host host");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> S3Bucket.of("my_rows").withPathStyle(false))
        .withMessageContaining("part of a host");
    assertThatIllegalArgumentException().isThrownBy(() -> bucket().source(""));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> S3Keys.of("id", SECRET + "\n"))
        .withMessage(
            "secretAccessKey must have printable characters of ASCII only, and at least one");
    assertThat(List.of(bucket(), KEYS, S3Credentials.of(KEYS), bucket().source("a")).toString())
        .doesNotContain(SECRET)
        .doesNotContain("user");
  }
}
