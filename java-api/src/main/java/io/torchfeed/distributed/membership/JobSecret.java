// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.RankVariables;
import io.torchfeed.internal.SecretHandshake;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The secret of a job: a process that does not know it neither joins the job nor is joined.
 *
 * <p>Coordinator and member prove to each other that they know it, before anything else is read; it
 * is not sent. Everything after that is sent as it is, neither encrypted nor signed, and so are the
 * connections of process groups. Immutable; its text form does not show it.
 */
public final class JobSecret {
  private static final int RANDOM_BYTES = 32;
  private static final int MIN_CHARS = 16;
  private static final int MAX_BYTES = 4096;

  private final String text;

  private JobSecret(String text, String origin) {
    this.text = text.strip();
    if (this.text.length() < MIN_CHARS) {
      throw new IllegalArgumentException(
          "%s must have at least %d characters, got %d; make one by: openssl rand -hex 32"
              .formatted(origin, MIN_CHARS, this.text.length()));
    }
  }

  /**
   * Returns a new secret.
   *
   * @return 32 random bytes, in hexadecimal
   */
  public static JobSecret random() {
    return of(HexFormat.of().formatHex(SecretHandshake.random(RANDOM_BYTES)));
  }

  /**
   * Returns a secret.
   *
   * @param text at least 16 characters, without spaces around them; it should be random
   * @return the secret
   */
  public static JobSecret of(String text) {
    return new JobSecret(requireNonNull(text, "text"), "a secret");
  }

  /**
   * Reads a secret.
   *
   * @param file its text, in UTF-8, of at most 4096 bytes; only the job's user should read it
   * @return the secret
   * @throws IllegalArgumentException if the file cannot be read, or has no secret
   */
  public static JobSecret read(Path file) {
    try (InputStream in = Files.newInputStream(requireNonNull(file, "file"))) {
      byte[] bytes = in.readNBytes(MAX_BYTES + 1);
      if (bytes.length > MAX_BYTES) {
        throw new IllegalArgumentException(
            "the secret in %s must have at most %d bytes".formatted(file, MAX_BYTES));
      }
      return new JobSecret(new String(bytes, UTF_8), "the secret in " + file);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "the secret in %s cannot be read: %s".formatted(file, Failures.reason(e)), e);
    }
  }

  /**
   * Returns the secret that the environment has: the text of {@code TORCHFEED_JOB_SECRET}, which a
   * launcher sets for its processes, or that in the file which {@code TORCHFEED_JOB_SECRET_FILE}
   * names.
   *
   * @return the secret; empty if neither variable is set
   * @throws IllegalArgumentException if the file cannot be read, or there is no secret
   */
  public static Optional<JobSecret> fromEnvironment() {
    return from(System.getenv());
  }

  static Optional<JobSecret> from(Map<String, String> variables) {
    @Nullable String text = variables.get(RankVariables.SECRET);
    if (text != null) {
      return Optional.of(new JobSecret(text, "environment variable " + RankVariables.SECRET));
    }
    return Optional.ofNullable(variables.get(RankVariables.SECRET_FILE))
        .map(file -> read(Path.of(file)));
  }

  /**
   * Returns the secret itself, for a process that joins the job.
   *
   * @return to be kept out of logs and command lines
   */
  public String text() {
    return text;
  }

  byte[] bytes() {
    return text.getBytes(UTF_8);
  }

  @Override
  public String toString() {
    return "JobSecret[hidden]";
  }
}
