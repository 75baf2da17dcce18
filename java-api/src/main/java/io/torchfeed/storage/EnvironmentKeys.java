// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.internal.Failures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The keys that variables of the environment name, in the order of AWS's own programs. */
final class EnvironmentKeys implements S3Credentials {
  private static final Duration EARLY = Duration.ofMinutes(5);
  private static final String SECRET = "AWS_SECRET_ACCESS_KEY";

  private final Map<String, String> variables;
  private final String home;
  private final Clock clock;

  // guarded by this
  private @Nullable S3Keys known;
  private Instant until = Instant.MIN;

  EnvironmentKeys(Map<String, String> variables, String home) {
    this(variables, home, Clock.systemUTC());
  }

  EnvironmentKeys(Map<String, String> variables, String home, Clock clock) {
    this.variables = Map.copyOf(variables);
    this.home = home;
    this.clock = clock;
  }

  @Override
  public synchronized S3Keys keys() throws IOException {
    S3Keys kept = known;
    if (kept != null && clock.instant().isBefore(until)) {
      return kept;
    }
    try {
      S3Keys fresh = found();
      Instant expires = fresh.expires();
      until = expires == null ? clock.instant().plus(EARLY) : expires.minus(EARLY);
      known = fresh;
      return fresh;
    } catch (IOException e) {
      Instant expires = kept == null ? null : kept.expires();
      if (kept != null && expires != null && clock.instant().isBefore(expires)) {
        return kept; // good for some minutes, and another try may succeed
      }
      throw e;
    }
  }

  private S3Keys found() throws IOException {
    if (variables.containsKey("AWS_ACCESS_KEY_ID") || variables.containsKey(SECRET)) {
      return keys(
          "the variables of the environment",
          variables.get("AWS_ACCESS_KEY_ID"),
          variables.get(SECRET),
          variables.get("AWS_SESSION_TOKEN"));
    }
    Path file =
        Path.of(variables.getOrDefault("AWS_SHARED_CREDENTIALS_FILE", home + "/.aws/credentials"));
    String profile = variables.get("AWS_PROFILE");
    Map<String, String> entries =
        Files.exists(file) ? profile(file, profile == null ? "default" : profile) : Map.of();
    if (!entries.isEmpty()) {
      return keys(
          "the profile %s of %s".formatted(profile == null ? "default" : profile, file),
          entries.get("aws_access_key_id"),
          entries.get("aws_secret_access_key"),
          entries.get("aws_session_token"));
    } else if (profile != null) {
      throw new IOException("%s has no profile %s".formatted(file, profile));
    }
    ContainerKeys container = ContainerKeys.of(variables);
    if (container == null) {
      throw new IOException(
          "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write %s, "
                  .formatted(file)
              + "or use S3Bucket.withCredentials or withoutCredentials");
    }
    return container.read();
  }

  /** Returns keys of texts that may be missing; messages do not have them. */
  static S3Keys keys(
      String from, @Nullable String id, @Nullable String secret, @Nullable String token)
      throws IOException {
    if (id == null || secret == null) {
      throw new IOException(
          "%s must have both keys, but the %s is missing"
              .formatted(from, id == null ? "access key id" : "secret access key"));
    }
    try {
      S3Keys keys = S3Keys.of(id.strip(), secret.strip());
      return token == null || token.isBlank() ? keys : keys.withSessionToken(token.strip());
    } catch (IllegalArgumentException e) { // names the wrong one
      throw new IOException("of %s, %s".formatted(from, e.getMessage()), e);
    }
  }

  private static Map<String, String> profile(Path file, String profile) throws IOException {
    Map<String, String> entries = new HashMap<>();
    boolean isIn = false;
    try {
      for (String each : Files.readAllLines(file, UTF_8)) {
        String line = each.strip();
        int equals = line.indexOf('=');
        if (line.startsWith("[")) {
          isIn = line.replaceAll("[\\[\\]]", "").strip().equals(profile);
        } else if (isIn && equals > 0 && !line.startsWith("#") && !line.startsWith(";")) {
          entries.put(line.substring(0, equals).strip(), line.substring(equals + 1).strip());
        }
      }
    } catch (IOException e) {
      throw new IOException("%s cannot be read: %s".formatted(file, Failures.reason(e)), e);
    }
    return entries;
  }

  @Override
  public String toString() {
    return "S3Credentials.ofEnvironment()";
  }
}
