// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import io.torchfeed.internal.Failures;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The keys that an endpoint of a container hands out, for a task of ECS or a pod of EKS. */
final class ContainerKeys {
  private static final String NAME = "the endpoint of the container's credentials";

  /** Hosts on this machine: a token may go there without encryption. */
  private static final Set<String> NEAR =
      Set.of(
          "localhost", "127.0.0.1", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]");

  private static final int MAX_BYTES = 1 << 16;

  private static final HttpOptions OPTIONS =
      HttpOptions.defaults()
          .withStallTimeout(Duration.ofSeconds(5))
          .withRetryLimit(Duration.ofSeconds(10));

  private final URI uri;
  private final @Nullable String token;
  private final @Nullable String tokenFile;

  private ContainerKeys(URI uri, @Nullable String token, @Nullable String tokenFile) {
    this.uri = uri;
    this.token = token;
    this.tokenFile = tokenFile;
  }

  /** Returns the endpoint that variables name; null if they name none. */
  static @Nullable ContainerKeys of(Map<String, String> variables) throws IOException {
    String relative = variables.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    String full = variables.get("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (relative == null && full == null) {
      return null;
    }
    String address = relative == null ? String.valueOf(full) : "http://169.254.170.2" + relative;
    URI uri;
    try {
      uri = URI.create(address);
    } catch (IllegalArgumentException e) { // its message has the address
      throw new IOException(NAME + " must be an address, got none");
    }
    if (!HttpPlace.isHttp(uri)
        || (!"https".equalsIgnoreCase(uri.getScheme()) && !NEAR.contains(uri.getHost()))) {
      throw new IOException(
          "%s must be reached by https or be on this machine, got %s://%s"
              .formatted(NAME, uri.getScheme(), uri.getHost()));
    }
    return new ContainerKeys(
        uri,
        variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
        variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
  }

  S3Keys read() throws IOException {
    String authorization = authorization();
    Map<String, String> headers =
        authorization == null ? Map.of() : Map.of("Authorization", authorization);
    byte[] answer = HttpDocument.read(NAME, uri, at -> headers, OPTIONS, MAX_BYTES);
    Map<String, String> fields = fields(answer);
    S3Keys keys =
        EnvironmentKeys.keys(
            NAME, fields.get("AccessKeyId"), fields.get("SecretAccessKey"), fields.get("Token"));
    String expires = fields.get("Expiration");
    try {
      return expires == null ? keys : keys.withExpiry(Instant.parse(expires));
    } catch (DateTimeException e) { // its message may have anything
      throw new IOException(NAME + " must tell when the keys expire in ISO 8601");
    }
  }

  private @Nullable String authorization() throws IOException {
    if (tokenFile == null) {
      return token;
    }
    try {
      return Files.readString(Path.of(tokenFile), UTF_8).strip();
    } catch (IOException e) {
      throw new IOException("%s cannot be read: %s".formatted(tokenFile, Failures.reason(e)), e);
    }
  }

  /** Returns the texts of a JSON object. Exceptions have nothing of it. */
  private static Map<String, String> fields(byte[] json) throws IOException {
    Map<String, String> fields = new HashMap<>();
    try (JsonParser parser = new JsonFactory().createParser(json)) {
      for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
        if (token == JsonToken.VALUE_STRING && parser.currentName() != null) {
          fields.put(parser.currentName(), parser.getText());
        }
      }
    } catch (JsonProcessingException e) { // its message may have a part of a key
      throw new IOException(NAME + " must answer with JSON");
    }
    return fields;
  }
}
