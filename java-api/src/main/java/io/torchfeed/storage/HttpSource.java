// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Sha256;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;

/**
 * An object behind HTTP or HTTPS, read by requests of ranges. Thread-safe.
 *
 * <pre>{@code
 * HttpOptions options = HttpOptions.defaults().withHeader("Authorization", System.getenv("TOKEN"));
 * URI uri = URI.create("https://data.example.org/train.csv");
 * try (ByteSource lines = ReadAhead.of(HttpSource.of(uri, options))) {
 *   TextPartition plan = TextPartition.of(List.of(lines), 2);
 * }
 * }</pre>
 *
 * <p>The first answer tells size and version. All later ones must be of the same version: requests
 * have {@code If-Match} with its ETag if that is strong, or {@code If-Unmodified-Since} if the
 * server sends {@code Last-Modified} and no ETag, and each answer must have the ETag or time of the
 * first. The bytes of two versions are never mixed: a changed object is a {@link
 * ByteSourceException} of {@link ByteSourceException.Problem#CHANGED}. Not noticed: with {@code
 * Last-Modified} alone, two changes within a second that leave the size; without both headers, any
 * change that leaves the size.
 *
 * <p>A read returns the right bytes, or throws at most the {@link HttpOptions#withRetryLimit limit
 * for retries} and twice the {@link HttpOptions#withStallTimeout limit for silence} after it began;
 * {@code Retry-After} of the server is respected within this limit. An interrupt ends a read, whose
 * thread stays interrupted. A server that answers with the whole object in place of a range is
 * refused; its answer is not read. So is one that encodes the bytes, by {@code gzip} for example:
 * requests ask for plain ones.
 *
 * <p>Redirects are followed, at most ten and none from HTTPS to HTTP. Another server receives none
 * of the headers of the options. The last address that answered is asked again until it fails.
 *
 * <p>Each read waits for the server. Readers of one object from begin to end use {@link ReadAhead},
 * which asks for several ranges at a time.
 */
public final class HttpSource implements ByteSource {
  private final String name;
  private final RangeReader reader;
  private final String variant; // of the query, which is not in the name
  private volatile boolean isClosed;

  private HttpSource(String name, RangeReader reader, String variant) {
    this.name = name;
    this.reader = reader;
    this.variant = variant;
  }

  /**
   * Returns the source of an object with the default options. No request is sent yet.
   *
   * @param uri the address, with {@code http} or {@code https}
   * @return the source, named by host and path without the query; the caller closes it
   * @throws IllegalArgumentException if the address has another scheme, no host, or a user's name
   */
  public static HttpSource of(URI uri) {
    requireNonNull(uri, "uri");
    return of(uri, HttpOptions.defaults());
  }

  /**
   * Returns the source of an object. No request is sent yet.
   *
   * @param uri the address, with {@code http} or {@code https}; its query, which may be a
   *     signature, is in no message
   * @param options headers, limits and the client
   * @return the source, named by host and path without the query; the caller closes it
   * @throws IllegalArgumentException if the address has another scheme, no host, or a user's name
   */
  public static HttpSource of(URI uri, HttpOptions options) {
    requireNonNull(uri, "uri");
    requireNonNull(options, "options");
    if (!HttpPlace.isHttp(uri)) {
      throw new IllegalArgumentException(
          "uri must begin with http:// or https:// and have a host, got the scheme %s and host %s"
              .formatted(uri.getScheme(), uri.getHost()));
    } else if (uri.getRawUserInfo() != null) {
      throw new IllegalArgumentException(
          "uri must not have a user and a password, got some for %s; use the header Authorization"
              .formatted(HttpPlace.host(uri)));
    }
    HttpPlace place = new HttpPlace(uri, at -> options.headers());
    String name = HttpPlace.host(uri) + uri.getRawPath();
    RangeReader reader = new RangeReader(new HttpCaller(name, place, options), false);
    String query = uri.getRawQuery();
    return new HttpSource(
        name, reader, query == null ? "" : " " + Sha256.hex(query).substring(0, 16));
  }

  /** Returns an object of a store. */
  static HttpSource ofStore(String name, HttpPlace place, HttpOptions options) {
    return new HttpSource(name, new RangeReader(new HttpCaller(name, place, options), true), "");
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public long size() throws IOException {
    requireOpen();
    return reader.version().size();
  }

  /**
   * Returns the strong ETag of the object, or else a weak one or its Last-Modified with a hash of
   * the query of the address; empty if there is none of these.
   *
   * @throws ByteSourceException as {@link #read}
   */
  @Override
  public String version() throws IOException {
    requireOpen();
    ObjectVersion version = reader.version();
    return version.isExact() ? version.text() : version.text() + variant;
  }

  @Override
  public int read(long offset, ByteBuffer into) throws IOException {
    ReadArguments.require(offset, into);
    requireOpen();
    return reader.read(offset, into);
  }

  private void requireOpen() throws ClosedChannelException {
    if (isClosed) {
      throw new ClosedChannelException();
    }
  }

  /** Refuses later reads. Those that are running end as they would. */
  @Override
  public void close() {
    isClosed = true;
  }

  @Override
  public String toString() {
    return "HttpSource[%s]".formatted(name);
  }
}
