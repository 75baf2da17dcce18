// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;
import static java.util.Objects.requireNonNullElse;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

import io.torchfeed.storage.ByteSourceException.Problem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class S3CredentialsTest {
  private static final String SECRET = "s3cr3t";

  private final Path folder;
  private final FaultServer server = new FaultServer(new byte[0]);
  private final Map<String, String> variables = new HashMap<>();
  private final MovedClock clock = new MovedClock();

  S3CredentialsTest(@TempDir Path folder) throws IOException {
    this.folder = folder;
  }

  @AfterEach
  void closeTheServer() throws IOException {
    server.close();
  }

  /** A clock that a test moves. */
  private static final class MovedClock extends Clock {
    private Instant now = Instant.parse("2026-01-01T00:00:00Z");

    @Override
    public ZoneId getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Instant instant() {
      return now;
    }
  }

  private EnvironmentKeys credentials() {
    return new EnvironmentKeys(variables, folder.toString(), clock);
  }

  private static void assertKeys(S3Keys keys, String id, String secret, String token) {
    assertThat(keys.accessKeyId()).isEqualTo(id);
    assertThat(keys.secretAccessKey()).isEqualTo(secret);
    assertThat(requireNonNullElse(keys.sessionToken(), "")).isEqualTo(token);
  }

  @Test
  void variablesComeFirst() throws IOException {
    writeProfiles("[default]\naws_access_key_id=no\naws_secret_access_key=no\n");
    variables.put("AWS_ACCESS_KEY_ID", "id");
    assertThatIOException()
        .isThrownBy(() -> credentials().keys())
        .withMessage(
            "the variables of the environment must have both keys,"
                + " but the secret access key is missing");
    variables.put("AWS_SECRET_ACCESS_KEY", SECRET);
    assertKeys(credentials().keys(), "id", SECRET, "");
    variables.put("AWS_SESSION_TOKEN", "token");
    assertKeys(credentials().keys(), "id", SECRET, "token");
    variables.put("AWS_SESSION_TOKEN", SECRET + "\u0001");
    assertThatIOException()
        .isThrownBy(() -> credentials().keys())
        .withMessageContaining("token must have printable characters")
        .satisfies(e -> assertThat(e.toString() + e.getCause()).doesNotContain(SECRET));
    assertThat(credentials().toString()).doesNotContain(SECRET);
  }

  private void writeProfiles(String content) throws IOException {
    Files.createDirectories(folder.resolve(".aws"));
    Files.writeString(folder.resolve(".aws/credentials"), content);
  }

  @Test
  void aProfileIsReadFromItsFile() throws IOException {
    writeProfiles(
        """
        # a comment
        [default]
        aws_access_key_id = id
        ; aws_access_key_id = no
        aws_secret_access_key=a=b/c+
        [ other ]
        aws_access_key_id = other
        aws_secret_access_key = secret
        aws_session_token = token
        """);
    EnvironmentKeys credentials = credentials();
    assertKeys(credentials.keys(), "id", "a=b/c+", "");
    variables.put("AWS_PROFILE", "other");
    assertKeys(credentials().keys(), "other", "secret", "token");
    variables.put("AWS_PROFILE", "none");
    assertThatIOException()
        .isThrownBy(() -> credentials().keys())
        .withMessage(folder + "/.aws/credentials has no profile none");
    writeProfiles("[default]\naws_access_key_id=new\naws_secret_access_key=new\n");
    assertKeys(credentials.keys(), "id", "a=b/c+", "");
    clock.now = clock.now.plus(Duration.ofMinutes(6));
    assertKeys(credentials.keys(), "new", "new", "");
    variables.remove("AWS_PROFILE");
    variables.put("AWS_SHARED_CREDENTIALS_FILE", folder.resolve("elsewhere").toString());
    Files.writeString(folder.resolve("elsewhere"), "[default]\naws_access_key_id=id\n");
    assertThatIOException()
        .isThrownBy(() -> credentials().keys())
        .withMessageEndingWith("must have both keys, but the secret access key is missing");
  }

  @Test
  void withoutAnyTheWaysAreNamed() {
    assertThatIOException()
        .isThrownBy(() -> credentials().keys())
        .withMessageStartingWith("no credentials: set AWS_ACCESS_KEY_ID");
  }

  private void answerKeys(String id, Instant expires) {
    String json =
        "{\"AccessKeyId\":\"%s\",\"SecretAccessKey\":\"%s\",\"Token\":\"t\",\"Expiration\":\"%s\"}"
            .formatted(id, SECRET, expires);
    server.faults.add((request, connection) -> connection.text(200, Map.of(), json));
  }

  @Test
  void keysOfAContainerAreAskedForAgainBeforeTheyExpire() throws IOException {
    variables.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.uri("/role").toString());
    variables.put("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic " + SECRET);
    EnvironmentKeys credentials = credentials();
    Instant expires = clock.now.plus(Duration.ofHours(1));
    answerKeys("first", expires);
    assertKeys(credentials.keys(), "first", SECRET, "t");
    clock.now = expires.minus(Duration.ofMinutes(6));
    assertKeys(credentials.keys(), "first", SECRET, "t");
    assertThat(server.requests).hasSize(1);
    clock.now = expires.minus(Duration.ofMinutes(4));
    server.faults.add(FaultServer.status(404, Map.of()));
    assertKeys(credentials.keys(), "first", SECRET, "t"); // still good
    answerKeys("second", expires.plus(Duration.ofHours(1)));
    assertKeys(credentials.keys(), "second", SECRET, "t");
    assertThat(server.requests)
        .hasSize(3)
        .allSatisfy(each -> assertThat(each.target()).isEqualTo("/role"))
        .allSatisfy(each -> assertThat(each.header("Authorization")).isEqualTo("Basic " + SECRET));
    clock.now = expires.plus(Duration.ofHours(2));
    server.faults.add(FaultServer.status(404, Map.of()));
    assertThatExceptionOfType(ByteSourceException.class)
        .isThrownBy(credentials::keys)
        .withMessageContaining("the endpoint of the container's credentials")
        .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.MISSING));
  }

  @Test
  void theTokenOfAContainerMayBeInAFile() throws IOException {
    Path file = Files.writeString(folder.resolve("token"), SECRET + "\n");
    variables.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.uri("/role").toString());
    variables.put("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file.toString());
    answerKeys("id", clock.now);
    assertKeys(credentials().keys(), "id", SECRET, "t");
    assertThat(server.requests.get(0).header("Authorization")).isEqualTo(SECRET);
  }

  @ParameterizedTest
  @CsvSource({
    "{\"AccessKeyId\":\"s3cr3t, must answer with JSON",
    "s3cr3t, must answer with JSON",
    "{\"AccessKeyId\":\"s3cr3t\"}, the secret access key is missing",
    "'{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Expiration\":\"s3cr3t\"}', ISO 8601"
  })
  void anAnswerThatHasNoKeysIsRefused(String body, String message) {
    variables.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.uri("/role").toString());
    server.faults.add((request, connection) -> connection.text(200, Map.of(), body));
    assertThatIOException()
        .isThrownBy(() -> credentials().keys())
        .withMessageContaining(message)
        .satisfies(e -> assertThat(requireNonNull(e.getMessage())).doesNotContain(SECRET))
        .satisfies(e -> assertThat(String.valueOf(e.getCause())).doesNotContain(SECRET));
  }

  @ParameterizedTest
  @CsvSource({"http://example.org/role", "ftp://localhost/role", "http://localhost s3cr3t"})
  void aTokenGoesToNoOtherMachineInTheClear(String uri) {
    variables.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri);
    assertThatIOException()
        .isThrownBy(() -> credentials().keys())
        .withMessageStartingWith("the endpoint of the container's credentials must be ")
        .satisfies(e -> assertThat(requireNonNull(e.getMessage())).doesNotContain(SECRET));
  }
}
