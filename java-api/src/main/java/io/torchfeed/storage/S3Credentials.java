// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import java.io.IOException;

/** The origin of the keys of a user of S3. Thread-safe. */
@FunctionalInterface
public interface S3Credentials {
  /**
   * Returns the keys for a request. Called for each one: slow ways keep their keys until they
   * expire.
   *
   * @return the keys
   * @throws IOException if they cannot be had; the message has nothing of them
   */
  S3Keys keys() throws IOException;

  /**
   * Returns the same keys for each request.
   *
   * @param keys the keys
   * @return the credentials
   */
  static S3Credentials of(S3Keys keys) {
    requireNonNull(keys, "keys");
    return () -> keys;
  }

  /**
   * Returns the keys that the first of these has, when a request needs them:
   *
   * <ol>
   *   <li>the variables {@code AWS_ACCESS_KEY_ID}, {@code AWS_SECRET_ACCESS_KEY} and, if it is set,
   *       {@code AWS_SESSION_TOKEN};
   *   <li>the profile {@code AWS_PROFILE}, or {@code default}, of the file {@code
   *       AWS_SHARED_CREDENTIALS_FILE}, or {@code ~/.aws/credentials}, which is read again every
   *       five minutes;
   *   <li>the endpoint of a container, {@code AWS_CONTAINER_CREDENTIALS_RELATIVE_URI} or {@code
   *       AWS_CONTAINER_CREDENTIALS_FULL_URI}, with the token {@code
   *       AWS_CONTAINER_AUTHORIZATION_TOKEN} or the one in the file {@code
   *       AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE}. Keys are asked for again five minutes before
   *       they expire.
   * </ol>
   *
   * @return the credentials; their {@link #keys} throws if none of them has keys, or one is broken
   */
  static S3Credentials ofEnvironment() {
    return new EnvironmentKeys(System.getenv(), System.getProperty("user.home", ""));
  }
}
